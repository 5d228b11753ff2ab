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

constexpr comm::Rank kRoot{0};

/// The header that is broadcast before the records of the steps.
struct BroadcastHeader {
  format::DatasetId dataset = {};
  std::uint64_t steps = 0;
  std::uint64_t bytes = 0;
};

Result<StepList> load_step_list(const std::string& directory) {
  auto commits = read_commits(directory);
  if (!commits) return failure(commits.error());
  return StepList{.dataset = commits->state.dataset,
                  .steps = std::move(commits->steps),
                  .errors = std::move(commits->errors)};
}

/// Sends the list of the root to all others.
Result<StepList> broadcast_step_list(comm::Communicator& ranks,
                                     StepList list,
                                     const std::string& directory) {
  std::vector<std::byte> records;
  if (ranks.rank() == kRoot) records = format::encode_steps(list.steps);
  BroadcastHeader header{list.dataset, list.steps.size(), records.size()};
  auto sent = ranks.broadcast(std::as_writable_bytes(std::span(&header, 1)), kRoot);
  if (!sent) return failure(sent.error());
  records.resize(header.bytes);
  sent = ranks.broadcast(records, kRoot);
  if (!sent) return failure(sent.error());
  if (ranks.rank() == kRoot) return list;
  auto steps = format::decode_steps(records, header.steps, directory, 0);
  if (!steps) return failure(steps.error());
  return StepList{.dataset = header.dataset, .steps = std::move(*steps), .errors = {}};
}

}  // namespace

const format::StepEntry* StepList::find(std::uint64_t step) const noexcept {
  const auto found = std::ranges::lower_bound(steps, step, {}, &format::StepEntry::step);
  return found != steps.end() && found->step == step ? &*found : nullptr;
}

Result<format::LoadedCommits> read_commits(const std::string& directory) {
  auto file = format::open_commits(directory);
  if (!file) return failure(file.error());
  return format::load_commits(**file);
}

Result<StepList> read_step_list(comm::Communicator& ranks, const std::string& directory) {
  Result<StepList> mine =
      ranks.rank() == kRoot ? load_step_list(directory) : Result<StepList>(StepList());
  if (ranks.size() == 1) return mine;
  const Status read = mine ? Status() : Status(tl::unexpect, mine.error());
  if (const Status agreed = ranks.agree(read); !agreed) return failure(agreed.error());
  auto list = broadcast_step_list(ranks, std::move(*mine), directory);
  const Status passed = list ? Status() : Status(tl::unexpect, list.error());
  if (const Status agreed = ranks.agree(passed); !agreed) return failure(agreed.error());
  return list;
}

}  // namespace forebay::restore
