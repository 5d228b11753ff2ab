// SPDX-License-Identifier: Apache-2.0
// Runtime::open_dataset(), and the sessions through which a dataset is read.
#include <forebay/runtime.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "base/absolute_path.hpp"
#include "restore/step_core.hpp"
#include "runtime/own_session.hpp"
#include "runtime/runtime_core.hpp"
#include "runtime/way.hpp"

namespace forebay {

namespace {

/// Of a session on a device, and its largest share in the Runtime's memory. One file is read at a
/// time, and the sessions of the last few stay open: half is left to others.
struct Window {
  std::uint64_t bytes = 0;
  std::uint64_t share = 0;
};
constexpr Window kWideWindow{8_MiB, 8};
constexpr Window kNarrowWindow{1_MiB, 64};
constexpr std::uint64_t kWindowBytesMin = 1_MiB;

/// What the plan leaves open, for somebody who says exactly what is wanted.
ReadPlan plan_for(const RuntimeCore& runtime, const Way& way, ReadPlan plan, restore::Width width) {
  if (!plan.eager_bytes) plan.eager_bytes = 0;
  plan.agents = Agents::kPerRank;
  const Window& window = width == restore::Width::kWide ? kWideWindow : kNarrowWindow;
  const std::uint64_t share = runtime.windows()->budget_bytes() / window.share;
  const bool is_left_open = plan.window_bytes == 0 && plan.budget_bytes == 0;
  if (is_left_open && !way.cached && share >= kWindowBytesMin)
    plan.window_bytes = std::min(window.bytes, std::bit_floor(share));
  return plan;
}

/// Ranks open data files as they need them, in no common order: these sessions have no number.
Result<SharedSession> open_session(RuntimeCore& runtime,
                                   const std::shared_ptr<storage::File>& file,
                                   ByteRange extent,
                                   const ReadPlan& wanted,
                                   restore::Width width) {
  auto way = choose_way(file, {extent, wanted.access}, runtime.storage());
  if (!way) return failure(way.error());
  const ReadPlan plan = plan_for(runtime, *way, wanted, width);
  auto session = own_session(runtime, std::move(*way), {extent, plan, {}});
  if (!session) return session;
  runtime.registry().enlist_unnumbered(*session);
  runtime.tell_of(file->path(), (*session)->plan());
  return session;
}

/// Turns that are kept for others when this rank wants none any more; null: no need.
Result<std::shared_ptr<comm::Turns>> open_turns(RuntimeCore& runtime,
                                                const StoredOptions& options) {
  comm::Communicator& ranks = **runtime.ranks();
  std::uint32_t at_once = options.readers_at_once;
  const Status told = ranks.broadcast(std::as_writable_bytes(std::span(&at_once, 1)), {0});
  if (!told) return failure(told.error());
  if (at_once == 0 || at_once >= ranks.size()) return nullptr;
  auto turns =
      comm::Turns::open(ranks, {.network = runtime.options().network}, {.at_once = at_once});
  if (!turns) return turns;
  runtime.keep(*turns);
  return std::shared_ptr<comm::Turns>(turns->get(),
                                      [kept = *turns](comm::Turns*) { kept->leave(); });
}

}  // namespace

Result<StoredDataset> Runtime::open_dataset(const std::string& path, const StoredOptions& options) {
  if (const Status may = core_->check_role("open a dataset"); !may)
    return failure(located(may.error(), path));
  if (!core_->ranks()) return failure(located(core_->ranks().error(), path));
  auto steps = restore::read_together(**core_->ranks(), path);
  if (!steps) return failure(steps.error());
  for (const Error& damage : steps->damages)
    core_->log(LogLevel::kWarning, path + ": " + damage.message());
  auto turns = open_turns(*core_, options);
  if (!turns) return failure(located(turns.error(), path));
  const auto opener = [core = core_](const auto& file, ByteRange extent, const ReadPlan& plan,
                                     restore::Width width) {
    return open_session(*core, file, extent, plan, width);
  };
  return StoredDataset(std::shared_ptr<restore::DatasetCore>(
      new restore::DatasetCore({.folder = absolute_path(path),
                                .steps = std::move(*steps),
                                .options = options,
                                .open_session = opener,
                                .executor = &core_->executor(),
                                .turns = std::move(*turns)}),
      detail::DeleteAtOrigin()));
}

}  // namespace forebay
