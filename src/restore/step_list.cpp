// SPDX-License-Identifier: Apache-2.0
#include "restore/step_list.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "format/open_commits.hpp"
#include "format/step_table.hpp"

namespace forebay::restore {

namespace {

constexpr comm::Rank kReader{0};

/// What goes to the other ranks in front of the records of the steps.
struct Head {
  format::DatasetId dataset = {};
  std::uint64_t steps = 0;
  std::uint64_t bytes = 0;
};

Result<StepList> list_of(const std::string& folder) {
  auto commits = read_commits(folder);
  if (!commits) return failure(commits.error());
  return StepList{.dataset = commits->state.dataset,
                  .steps = std::move(commits->steps),
                  .damages = std::move(commits->damages)};
}

/// Sends the list of the reader to all others.
Result<StepList> pass_on(comm::Communicator& ranks, StepList list, const std::string& folder) {
  std::vector<std::byte> records;
  if (ranks.rank() == kReader) records = format::encode_steps(list.steps);
  Head head{list.dataset, list.steps.size(), records.size()};
  auto told = ranks.broadcast(std::as_writable_bytes(std::span(&head, 1)), kReader);
  if (!told) return failure(told.error());
  records.resize(head.bytes);
  told = ranks.broadcast(records, kReader);
  if (!told) return failure(told.error());
  if (ranks.rank() == kReader) return list;
  auto steps = format::decode_steps(records, head.steps, folder, 0);
  if (!steps) return failure(steps.error());
  return StepList{.dataset = head.dataset, .steps = std::move(*steps), .damages = {}};
}

}  // namespace

const format::StepEntry* StepList::find(std::uint64_t step) const noexcept {
  const auto found = std::ranges::lower_bound(steps, step, {}, &format::StepEntry::step);
  return found != steps.end() && found->step == step ? &*found : nullptr;
}

Result<format::LoadedCommits> read_commits(const std::string& folder) {
  auto file = format::open_commits(folder);
  if (!file) return failure(file.error());
  return format::load_commits(**file);
}

Result<StepList> read_together(comm::Communicator& ranks, const std::string& folder) {
  Result<StepList> mine = ranks.rank() == kReader ? list_of(folder) : Result<StepList>(StepList());
  if (ranks.size() == 1) return mine;
  const Status read = mine ? Status() : Status(tl::unexpect, mine.error());
  if (const Status agreed = ranks.agree(read); !agreed) return failure(agreed.error());
  auto list = pass_on(ranks, std::move(*mine), folder);
  const Status passed = list ? Status() : Status(tl::unexpect, list.error());
  if (const Status agreed = ranks.agree(passed); !agreed) return failure(agreed.error());
  return list;
}

}  // namespace forebay::restore
