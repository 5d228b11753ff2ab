// SPDX-License-Identifier: Apache-2.0
// Puts the parts together: options, agents, memory and files. Agents are started when the first
// session needs them, one for each way of reading: directly through the system's asynchronous
// interface, and from the page cache by a few threads.
#include <forebay/config.hpp>
#include <forebay/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "read/copy_agent.hpp"
#include "read/engine_agent.hpp"
#include "read/host.hpp"
#include "read/window_pool.hpp"
#include "runtime/session_registry.hpp"
#include "storage/access_rule.hpp"
#include "storage/file.hpp"
#include "storage/probe.hpp"

namespace forebay {

namespace {

/// Operations of all sessions that an agent may have under way.
constexpr std::size_t kAgentDepth = 64;
/// With this share of an extent in the page cache, reading it counts as copying.
constexpr double kCachedFractionMin = 0.9;
/// Threads that keep a device busy where io_uring cannot be used: one for each request under way.
constexpr std::size_t kDirectThreads = 16;
/// Copying from the page cache is bound by memory: more threads than this only take cores from the
/// application.
constexpr unsigned kCopyThreadsMax = 4;

storage::BackendChoice backend_choice(EngineChoice choice) {
  switch (choice) {
    case EngineChoice::kAuto:
      return storage::BackendChoice::kAuto;
    case EngineChoice::kRing:
      return storage::BackendChoice::kRing;
    case EngineChoice::kThreads:
      break;
  }
  return storage::BackendChoice::kThreads;
}

unsigned copy_threads(const RuntimeOptions& options) {
  if (options.copy_threads != 0) return options.copy_threads;
  return std::clamp(std::thread::hardware_concurrency() / 2, 1U, kCopyThreadsMax);
}

}  // namespace

/// What a Runtime, its files and its sessions share.
class RuntimeCore {
 public:
  RuntimeCore(const RuntimeOptions& options, const Ranks& ranks)
      : options_(options),
        ranks_(ranks.communicator()),
        windows_(std::make_shared<read::WindowPool>(options.budget_bytes)),
        registry_(name_together()) {
    // A thread that waits for data to be copied from the page cache may as well copy some.
    loop_.set_idle_work(
        [this] { return helps_when_idle_.load(std::memory_order_acquire) && buffered_->help(); });
  }

  EventLoop& loop() noexcept { return loop_; }
  Executor& executor() noexcept {
    return options_.executor != nullptr ? *options_.executor : loop_;
  }
  const std::shared_ptr<read::WindowPool>& windows() const noexcept { return windows_; }

  Result<std::shared_ptr<read::Agent>> agent_for(Access access) {
    const std::lock_guard lock(mutex_);
    return access == Access::kBuffered ? copy_agent() : engine_agent();
  }

  /// While it is held nobody else opens a session: what a plan counts on is there when it is taken.
  std::unique_lock<std::mutex> take_turn() { return std::unique_lock(opening_); }

  const Result<std::shared_ptr<comm::Communicator>>& ranks() const noexcept { return ranks_; }
  SessionRegistry& registry() noexcept { return registry_; }

  /// Who wonders why a file is read as it is finds the answer in the log.
  void tell_of(const std::string& path, const ReadPlan& plan) const {
    if (options_.log == nullptr) return;
    const std::string access(name_of(*plan.access));
    const bool is_said = plan.reason.starts_with(access);  // as in "direct: a long read"
    options_.log->write(LogLevel::kInfo,
                        path + ": " + (is_said ? "" : access + ": ") + plan.reason);
  }

  /// Closes what is open, so that nobody waits for agents that are gone.
  void stop() {
    registry_.close_all();
    const std::lock_guard lock(mutex_);
    if (direct_) direct_->stop();
    if (buffered_) buffered_->stop();
  }

 private:
  Result<std::shared_ptr<read::Agent>> copy_agent() {
    if (!buffered_) {
      auto started =
          read::CopyAgent::start(copy_threads(options_), [this] { loop_.offer_idle_work(); });
      if (!started) return tl::unexpected<Error>(started.error());
      buffered_ = std::move(*started);
    }
    helps_when_idle_.store(true, std::memory_order_release);
    return buffered_;
  }

  Result<std::shared_ptr<read::Agent>> engine_agent() {
    if (direct_) return direct_;
    auto started = read::EngineAgent::start({.choice = backend_choice(options_.engine),
                                             .queue_depth = kAgentDepth,
                                             .worker_count = kDirectThreads,
                                             .worker_cpus = {},
                                             .log = options_.log});
    if (started) direct_ = *started;
    return started;
  }

  /// A number that all ranks of this Runtime know, and no other Runtime has.
  std::uint64_t name_together() const {
    std::random_device random;
    std::uint64_t name = std::uint64_t{random()} << 32U | random();
    // Where this fails, so does opening the first file, with the reason.
    if (ranks_) {
      static_cast<void>((*ranks_)->broadcast(std::as_writable_bytes(std::span(&name, 1)), {0}));
    }
    return name;
  }

  const RuntimeOptions options_;
  EventLoop loop_;
  const Result<std::shared_ptr<comm::Communicator>> ranks_;
  const std::shared_ptr<read::WindowPool> windows_;
  SessionRegistry registry_;
  std::mutex opening_;
  std::mutex mutex_;
  std::shared_ptr<read::Agent> direct_;
  std::shared_ptr<read::CopyAgent> buffered_;  // once made, never replaced
  std::atomic<bool> helps_when_idle_{false};
};

struct File::Opened {
  std::string path;
  std::uint64_t size_bytes = 0;
  std::shared_ptr<storage::File> buffered;
};

File::File(std::shared_ptr<RuntimeCore> runtime, std::shared_ptr<const Opened> opened)
    : runtime_(std::move(runtime)), opened_(std::move(opened)) {}

const std::string& File::path() const noexcept { return opened_->path; }

std::uint64_t File::size() const noexcept { return opened_->size_bytes; }

namespace {

Result<ByteRange> check_extent(const std::string& path, std::uint64_t size_bytes, Extent extent) {
  const bool to_the_end = extent.size == all;
  if (to_the_end && extent.offset <= size_bytes) extent.size = size_bytes - extent.offset;
  const ByteRange range{extent.offset, extent.size};
  if (ByteRange{0, size_bytes}.contains(range)) return range;
  return failure({.kind = ErrorClass::kOutOfRange,
                  .operation = "open a read session",
                  .path = path,
                  .offset_bytes = extent.offset,
                  .cause = (to_the_end ? std::string("the session begins")
                                       : std::to_string(extent.size) + " bytes from here reach") +
                           " past the end of the file, which has " + std::to_string(size_bytes) +
                           " bytes"});
}

/// The same file everywhere, or the same Error.
Status agree_on_size(const Result<std::shared_ptr<comm::Communicator>>& ranks,
                     const std::string& path,
                     const Result<std::uint64_t>& size) {
  if (!ranks) return tl::unexpected<Error>(located(ranks.error(), path));
  comm::Communicator& all_ranks = **ranks;
  const Status mine = size ? Status() : Status(tl::unexpect, size.error());
  if (all_ranks.size() == 1) return mine;
  if (const Status agreed = all_ranks.agree(mine); !agreed) return agreed;
  const auto least = all_ranks.all_reduce(comm::Reduction::kMin, *size);
  const auto most = all_ranks.all_reduce(comm::Reduction::kMax, *size);
  if (!least || !most) return tl::unexpected<Error>((least ? most : least).error());
  if (*least == *most) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "open",
                  .path = path,
                  .cause = "ranks see sizes from " + std::to_string(*least) + " to " +
                           std::to_string(*most) +
                           " bytes: it is not one file, or somebody is writing it"});
}

/// How a session reads: the file as it is opened for that, and why so.
struct Way {
  std::shared_ptr<storage::File> file;
  Access access = Access::kBuffered;
  std::string reason;
  bool cached = false;
};

/// Decides without reading anything, unless the caller has.
Result<Way> choose_way(const std::shared_ptr<storage::File>& buffered,
                       ByteRange extent,
                       std::optional<Access> wanted) {
  Way way{.file = buffered, .access = Access::kBuffered, .reason = {}};
  if (!wanted) {
    const storage::AccessFacts facts = storage::access_facts(*buffered, extent);
    storage::AccessDecision decision = storage::choose_access(facts);
    way.cached = facts.cached_fraction.value_or(0) >= kCachedFractionMin;
    way.access = decision.access;
    way.reason = std::move(decision.reason);
  } else {
    way.access = *wanted;
  }
  if (way.access == Access::kBuffered) return way;
  auto direct = storage::reopen(*buffered, {.access = Access::kDirect});
  if (!direct) return tl::unexpected<Error>(direct.error());
  way.file = std::move(*direct);
  return way;
}

}  // namespace

Result<Session> File::read_session(Extent extent, const ReadPlan& plan) const {
  const SessionHandle handle = runtime_->registry().next();
  const auto checked = check_extent(path(), size(), extent);
  if (!checked) return tl::unexpected<Error>(checked.error());
  // Plans, agents and windows know nothing of files: what they refuse gets its place here.
  auto session = open_session(*checked, plan, handle).map_error([&](const Error& error) {
    return located(error, path(), checked->offset);
  });
  if (session) runtime_->tell_of(path(), session->plan());
  return session;
}

Result<Session> File::open_session(ByteRange extent,
                                   const ReadPlan& plan,
                                   const SessionHandle& handle) const {
  auto way = choose_way(opened_->buffered, extent, plan.access);
  if (!way) return tl::unexpected<Error>(way.error());
  const auto turn = runtime_->take_turn();
  auto complete = plan_read({.extent = extent,
                             .access = way->access,
                             .access_reason = way->reason,
                             .alignment_bytes = way->file->alignment_bytes(),
                             .available_bytes = runtime_->windows()->available_bytes(),
                             .total_bytes = runtime_->windows()->budget_bytes()},
                            plan);
  if (!complete) return tl::unexpected<Error>(complete.error());
  auto agent = runtime_->agent_for(*complete->access);
  if (!agent) return tl::unexpected<Error>(agent.error());
  auto core = read::SessionHost::open({.file = std::move(way->file),
                                       .extent = extent,
                                       .plan = std::move(*complete),
                                       .windows = runtime_->windows(),
                                       .agent = *agent,
                                       .executor = &runtime_->executor(),
                                       .cached = way->cached,
                                       .handle = handle});
  if (!core) return tl::unexpected<Error>(core.error());
  const std::shared_ptr<read::SessionCore> shared = *core;
  Session session(shared);
  runtime_->registry().enlist(shared, session);
  (*agent)->serve(*core);
  return session;
}

Runtime::Runtime(RuntimeOptions options) : Runtime(Ranks(), options) {}

Runtime::Runtime(const Ranks& ranks, RuntimeOptions options)
    : core_(std::make_shared<RuntimeCore>(options, ranks)) {}

Runtime::~Runtime() { core_->stop(); }

Result<File> Runtime::open(const std::string& path) {
  auto opened = std::make_shared<File::Opened>();
  opened->path = path;
  const Result<std::uint64_t> size = [&]() -> Result<std::uint64_t> {
    auto file = storage::open_file(path);
    if (!file) return tl::unexpected<Error>(file.error());
    opened->buffered = std::move(*file);
    return opened->buffered->size();
  }();
  if (const Status agreed = agree_on_size(core_->ranks(), path, size); !agreed)
    return tl::unexpected<Error>(agreed.error());
  opened->size_bytes = *size;
  return File(core_, std::move(opened));
}

Result<Session> Runtime::session(const SessionHandle& handle) const {
  return core_->registry().find(handle);
}

std::uint32_t Runtime::rank() const noexcept {
  return core_->ranks() ? (*core_->ranks())->rank().number : 0;
}

std::uint32_t Runtime::rank_count() const noexcept {
  return core_->ranks() ? (*core_->ranks())->size() : 1;
}

EventLoop& Runtime::loop() noexcept { return core_->loop(); }

}  // namespace forebay
