// SPDX-License-Identifier: Apache-2.0
// Runtime::open_dataset(), and the sessions through which a dataset is read.
#include <forebay/runtime.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "base/absolute_path.hpp"
#include "restore/step_reader_core.hpp"
#include "runtime/access_method.hpp"
#include "runtime/open_local_session.hpp"
#include "runtime/open_tuned_session.hpp"
#include "runtime/runtime_core.hpp"

namespace forebay {

namespace {

/// The window of a session on a device, and its largest share (1 / share) of the Runtime's memory.
/// One file is read at a time, and sessions of the last few files stay open; half of the memory
/// remains for others.
struct WindowLimits {
  std::uint64_t bytes = 0;
  std::uint64_t share = 0;
};
constexpr WindowLimits kLargeWindow{8_MiB, 8};
constexpr WindowLimits kSmallWindow{1_MiB, 64};
constexpr std::uint64_t kWindowBytesMin = 1_MiB;

/// Completes the plan for requests that name exactly the bytes to read: no readahead.
ReadPlan complete_plan(const RuntimeCore& runtime,
                       const AccessMethod& method,
                       ReadPlan plan,
                       restore::WindowSize window_size) {
  if (!plan.readahead_bytes) plan.readahead_bytes = 0;
  plan.tuning.agent_scope = AgentScope::kPerRank;
  const WindowLimits& window =
      window_size == restore::WindowSize::kLarge ? kLargeWindow : kSmallWindow;
  const std::uint64_t share = runtime.windows()->budget_bytes() / window.share;
  const bool is_left_open = plan.tuning.window_bytes == 0 && plan.budget_bytes == 0;
  if (is_left_open && !method.cached && share >= kWindowBytesMin)
    plan.tuning.window_bytes = std::min(window.bytes, std::bit_floor(share));
  return plan;
}

/// Ranks open data files on demand, in no common order, so these sessions have no number.
Result<SessionPtr> open_session(RuntimeCore& runtime,
                                const std::shared_ptr<storage::File>& file,
                                ByteRange extent,
                                const ReadPlan& requested,
                                restore::WindowSize window_size) {
  auto method = choose_access_method(file, {extent, requested.access}, runtime.storage());
  if (!method) return failure(method.error());
  const ReadPlan plan = complete_plan(runtime, *method, requested, window_size);
  auto session = open_tuned_session(runtime, method, {extent, plan, {}}, open_local_session);
  if (!session) return session;
  runtime.registry().add_unnumbered(*session);
  runtime.log_plan(file->path(), (*session)->plan());
  return session;
}

/// Opens the limiter of concurrent readers; null if none is needed. Collective. The Runtime keeps
/// it for other ranks after this rank has released it.
Result<std::shared_ptr<comm::ConcurrencyLimiter>> open_limiter(RuntimeCore& runtime,
                                                               const DatasetReadOptions& options) {
  comm::Communicator& ranks = **runtime.ranks();
  std::uint32_t permit_count = options.concurrent_readers_max;
  const Status sent = ranks.broadcast(std::as_writable_bytes(std::span(&permit_count, 1)), {0});
  if (!sent) return failure(sent.error());
  if (permit_count == 0 || permit_count >= ranks.size()) return nullptr;
  auto limiter = comm::ConcurrencyLimiter::open(ranks, {.network = runtime.options().network},
                                                {.permit_count = permit_count});
  if (!limiter) return limiter;
  runtime.retain(*limiter);
  return std::shared_ptr<comm::ConcurrencyLimiter>(
      limiter->get(), [kept = *limiter](comm::ConcurrencyLimiter*) { kept->leave(); });
}

}  // namespace

Result<DatasetReader> Runtime::open_dataset(const std::string& path,
                                            const DatasetReadOptions& options) {
  if (const Status role_status = core_->check_role("open a dataset"); !role_status)
    return failure(with_location(role_status.error(), path));
  if (!core_->ranks()) return failure(with_location(core_->ranks().error(), path));
  auto steps = restore::read_step_list(**core_->ranks(), path);
  if (!steps) return failure(steps.error());
  for (const Error& damage : steps->errors)
    core_->log(LogLevel::kWarning, path + ": " + damage.message());
  auto limiter = open_limiter(*core_, options);
  if (!limiter) return failure(with_location(limiter.error(), path));
  const auto opener = [core = core_](const auto& file, ByteRange extent, const ReadPlan& plan,
                                     restore::WindowSize window_size) {
    return open_session(*core, file, extent, plan, window_size);
  };
  return DatasetReader(std::shared_ptr<restore::DatasetReaderCore>(
      new restore::DatasetReaderCore({.directory = absolute_path(path),
                                      .steps = std::move(*steps),
                                      .options = options,
                                      .open_session = opener,
                                      .executor = &core_->executor(),
                                      .limiter = std::move(*limiter)}),
      detail::OriginDeleter()));
}

}  // namespace forebay
