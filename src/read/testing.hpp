// SPDX-License-Identifier: Apache-2.0
// Shared by tests of sessions: files whose 64-bit words are their own offsets; a file whose readers
// wait until the test releases them; an agent with memory but without a Runtime; waits that end
// after a minute. For tests only.
#pragma once

#include <forebay/executor.hpp>
#include <forebay/session.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "base/testing.hpp"
#include "read/copy_agent.hpp"
#include "read/engine_agent.hpp"
#include "read/local_session.hpp"
#include "read/node_client.hpp"
#include "read/node_server.hpp"
#include "read/plan.hpp"
#include "read/requests.hpp"
#include "storage/file.hpp"
#include "storage/file_decorator.hpp"
#include "storage/memory_file.hpp"

namespace forebay::read {

/// No test waits longer: an operation that takes this long hangs.
inline constexpr std::chrono::seconds kTestTimeout{60};

// Bytes that identify their offset.

/// The byte at this offset of a file whose 64-bit words are their own offsets.
inline std::byte word_byte(std::uint64_t offset) {
  return static_cast<std::byte>(offset / 8 * 8 >> 8 * (offset % 8));
}

inline std::vector<std::byte> word_bytes(ByteRange range) {
  const std::uint64_t first_word = range.offset / 8;
  std::vector<std::uint64_t> words(range.end() / 8 + 1 - first_word);
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = (first_word + i) * 8;
  std::vector<std::byte> bytes(range.size);
  const auto* const raw = reinterpret_cast<const std::byte*>(words.data());
  std::copy_n(raw + range.offset % 8, range.size, bytes.data());
  return bytes;
}

/// Whether `bytes` equal those of such a file at `offset`; if not, where they first differ.
inline ::testing::AssertionResult is_words(std::span<const std::byte> bytes, std::uint64_t offset) {
  constexpr std::uint64_t kChunk = 1U << 15U;  // reuses memory, so that none is newly mapped
  for (std::uint64_t at = 0; at < bytes.size(); at += kChunk) {
    const std::span<const std::byte> part =
        bytes.subspan(at, std::min<std::uint64_t>(kChunk, bytes.size() - at));
    const std::vector<std::byte> expected = word_bytes({offset + at, part.size()});
    if (std::memcmp(expected.data(), part.data(), part.size()) == 0) continue;
    const auto differ = std::mismatch(part.begin(), part.end(), expected.begin());
    return ::testing::AssertionFailure()
           << "byte " << offset + at + static_cast<std::uint64_t>(differ.first - part.begin())
           << " of the file is wrong (" << bytes.size() << " bytes from " << offset << ")";
  }
  return ::testing::AssertionSuccess();
}

/// Random numbers; the seed is printed, and `--gtest_random_seed=` repeats it.
class Random {
 public:
  Random() {
    const auto given = static_cast<unsigned>(GTEST_FLAG_GET(random_seed));
    seed_ = given != 0 ? given : std::random_device()() % 99'999 + 1;
    engine_.seed(seed_);
    std::printf("seed %u (repeat with --gtest_random_seed=%u)\n", seed_, seed_);
  }
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  unsigned seed() const { return seed_; }
  std::uint64_t uniform(std::uint64_t limit) { return limit == 0 ? 0 : engine_() % limit; }
  std::uint64_t uniform_between(std::uint64_t low, std::uint64_t high) {
    return low + uniform(high - low + 1);
  }
  bool one_in(unsigned n) { return uniform(n) == 0; }
  /// A range within `extent`, of at most `size_max` bytes; may be empty.
  ByteRange range(ByteRange extent, std::uint64_t size_max) {
    const std::uint64_t size = uniform(std::min(extent.size, size_max) + 1);
    return {extent.offset + uniform(extent.size - size + 1), size};
  }

 private:
  unsigned seed_ = 0;
  std::mt19937_64 engine_;
};

// Waits with a limit.

/// The result of `future`, or an Error if it is not ready in time.
template <class T>
Result<T> result_of(Future<T>& future) {
  if (!future.wait_for(kTestTimeout)) {
    return failure(
        {.kind = ErrorClass::kIo, .operation = "wait", .cause = "no result within a minute"});
  }
  return future.wait();
}
template <class T>
Result<T> result_of(Future<T>&& future) {
  return result_of(future);
}

/// True once `condition` holds; false if it does not in a minute.
template <class F>
bool wait_until(F condition) {
  const auto deadline = std::chrono::steady_clock::now() + kTestTimeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

/// Runs the loop until `condition` holds; false if it does not in a minute.
template <class F>
bool run_until(EventLoop& loop, F condition) {
  const auto deadline = std::chrono::steady_clock::now() + kTestTimeout;
  pollfd entry{loop.event_fd(), POLLIN, 0};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(&entry, 1, 2);
    loop.poll();
  }
  return true;
}

/// An executor of the caller, with a thread.
class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor()
      : thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested())
            loop_.wait();
          loop_.poll();
        }) {}
  ~ThreadExecutor() override {
    thread_.request_stop();
    loop_.interrupt();
  }
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  void post(Work& work) noexcept override { loop_.post(work); }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  EventLoop loop_;
  std::jthread thread_;
};

// Files.

inline std::unique_ptr<storage::MemoryFile> word_file(std::uint64_t size_bytes) {
  return std::make_unique<storage::MemoryFile>("words", word_bytes({0, size_bytes}));
}

inline void write_words(const std::string& path, std::uint64_t size_bytes) {
  auto file = storage::open_file(path, {.intent = storage::Intent::kCreate});
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE((*file)->write_at(word_bytes({0, size_bytes}), 0));
}

/// A file of words whose readers wait at a gate. Tasks never read it on their own threads, as on a
/// device, unless its access is buffered.
class GatedFile final : public storage::FileDecorator {
 public:
  explicit GatedFile(std::uint64_t size_bytes, Access access = Access::kDirect)
      : FileDecorator(word_file(size_bytes)), access_(access) {}

  /// Closes the gate: later reads wait.
  void block_reads() {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
  }
  /// Opens the gate: waiting and later reads continue.
  void unblock_reads() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  /// Reads that wait at the gate now.
  int waiting_count() const {
    const std::lock_guard lock(mutex_);
    return waiting_count_;
  }
  /// Reads that have arrived at the gate so far.
  int arrival_count() const {
    const std::lock_guard lock(mutex_);
    return arrival_count_;
  }

  Access access() const noexcept override { return access_; }
  std::size_t alignment_bytes() const noexcept override { return 1; }
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override {
    std::unique_lock lock(mutex_);
    ++arrival_count_;
    ++waiting_count_;
    changed_.wait(lock, [this] { return is_open_; });
    --waiting_count_;
    lock.unlock();
    return FileDecorator::read_at(into, offset_bytes);
  }

 private:
  const Access access_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  int waiting_count_ = 0;
  int arrival_count_ = 0;
};

/// Presumed location of buffered files: if in the page cache, tasks copy on their own threads.
enum class PageCacheState : std::uint8_t { kCold, kWarm };

/// True if the tasks of a SessionFixture are clients of a node's agent (FOREBAY_TEST_AGENT=node)
/// instead of using agents directly. All tests hold for both.
inline bool is_node_server_run() {
  const char* const agents = std::getenv("FOREBAY_TEST_AGENT");
  return agents != nullptr && std::string(agents) == "node";
}

/// A session that loads nothing. Tests override what they observe.
class IdleSession : public SessionCore {
 public:
  explicit IdleSession(Properties properties) : SessionCore(std::move(properties)) {}

  Result<Availability> request(SplinterRequest& /*request*/, LoadPriority /*priority*/) override {
    return Availability::kPending;
  }
  void enqueue_load(const SplinterRequest& /*request*/, LoadPriority /*priority*/) override {}
  void push(std::span<const SplinterRequest> /*requests*/, std::uint64_t /*position*/) override {}
  void cancel_push(std::span<const SplinterIndex> /*splinters*/) override {}
  void invalidate(ByteRange /*range*/) override {}
  std::chrono::nanoseconds load_latency() const override { return {}; }
  bool arm(SplinterRequest& /*request*/, detail::Waiter& /*waiter*/) override { return false; }
  void disarm(SplinterIndex /*splinter*/, detail::Waiter& /*waiter*/) noexcept override {}
  bool help(SplinterRequest& /*request*/, detail::Help /*how*/) override { return false; }
  std::shared_ptr<BypassRead> start_bypass_read(ByteRange /*range*/) override { return nullptr; }
  void record_view_copy(std::uint64_t /*bytes*/) override {}

 private:
  SessionReport make_report() const override { return {}; }
  void close_session() override {}
  void notify_memory_released() noexcept override {}
};

/// Agents, memory, and an event loop: all that sessions need, without a Runtime. Must outlive its
/// sessions.
class SessionFixture {
 public:
  /// Bound of the operations in flight of the engine agent: small, so that it often has no room.
  static constexpr std::size_t kOperations = 8;

  explicit SessionFixture(PageCacheState page_cache = PageCacheState::kCold)
      : page_cache_(page_cache),
        windows_(std::make_shared<WindowPool>(64_MiB)),
        copy_agent_(CopyAgent::start(2, [this] { loop_.notify_idle_work(); }).value()) {
    std::shared_ptr<NodeServer> node;
    if (is_node_server_run()) node = start_node_server();
    auto started =
        EngineAgent::start({.choice = BackendChoice::kThreads, .queue_depth = kOperations}, node);
    EXPECT_TRUE(started) << started.error().message();
    engine_agent_ = *started;
    loop_.set_idle_work([this] { return copy_agent_->help(); });
    if (node)
      client_ = NodeClient::connect(node->name(), detail::deadline_after(kTestTimeout)).value();
  }
  ~SessionFixture() {
    if (client_) client_->stop();
    engine_agent_->stop();
    copy_agent_->stop();
  }
  SessionFixture(const SessionFixture&) = delete;
  SessionFixture& operator=(const SessionFixture&) = delete;

  EventLoop& loop() { return loop_; }
  const std::shared_ptr<WindowPool>& windows() const { return windows_; }

  /// A session on `extent`; `requested` is completed as in File::read_session().
  Session open(std::shared_ptr<storage::File> file, ByteRange extent, const ReadPlan& requested) {
    const auto plan = plan_read({.extent = extent,
                                 .access = file->access(),
                                 .access_reason = {},
                                 .alignment_bytes = file->alignment_bytes(),
                                 .available_bytes = windows_->available_bytes(),
                                 .total_bytes = windows_->budget_bytes()},
                                requested);
    EXPECT_TRUE(plan) << plan.error().message();
    LocalSession::OpenArgs setup{.file = std::move(file),
                                 .extent = extent,
                                 .plan = *plan,
                                 .windows = windows_,
                                 .agent = agent_for(plan->access),
                                 .executor = &loop_,
                                 .is_cached = page_cache_ == PageCacheState::kWarm};
    if (client_) return open_at_node_server(std::move(setup));
    const auto session = LocalSession::open(setup);
    EXPECT_TRUE(session) << session.error().message();
    setup.agent->notify(*session);
    return HandleAccess::make_session(*session);
  }
  /// A session on a whole file of words.
  Session open_words(std::uint64_t size_bytes, const ReadPlan& requested) {
    return open(word_file(size_bytes), {0, size_bytes}, requested);
  }

 private:
  std::shared_ptr<ReadAgent> agent_for(std::optional<Access> access) const {
    return access == Access::kDirect ? engine_agent_ : std::shared_ptr<ReadAgent>(copy_agent_);
  }
  /// Files of tests are in memory: the agent receives them here instead of through the channel.
  Session open_at_node_server(LocalSession::OpenArgs setup) {
    setup.handle = {.runtime = 1, .number = next_number_++};
    setup.is_cached = false;  // clients cannot copy into the window
    MappedSession::OpenArgs args{.file = setup.file,
                                 .extent = setup.extent,
                                 .plan = setup.plan,
                                 .executor = &loop_,
                                 .handle = setup.handle,
                                 .fallback_agent = [agent = setup.agent] { return agent; }};
    {
      const std::lock_guard lock(open_args_mutex_);
      open_args_[setup.handle.number] = std::move(setup);
    }
    const auto session = client_->open(std::move(args));
    EXPECT_TRUE(session) << session.error().message();
    return HandleAccess::make_session(*session);
  }
  std::shared_ptr<NodeServer> start_node_server() {
    auto node = NodeServer::start(
        3, [this](NodeServer::OpenArgs args) -> Result<NodeServer::ServedSession> {
          LocalSession::OpenArgs setup;
          {
            const std::lock_guard lock(open_args_mutex_);
            setup = std::move(open_args_.at(args.request.handle.number));
          }
          setup.create_control_block = std::move(args.create_control_block);
          setup.clients = 3;
          auto session = LocalSession::open(setup);
          if (!session) return failure(session.error());
          setup.agent->notify(*session);
          return NodeServer::ServedSession{.session = std::move(*session)};
        });
    EXPECT_TRUE(node) << node.error().message();
    return *node;
  }

  const PageCacheState page_cache_;
  EventLoop loop_;
  std::mutex open_args_mutex_;
  std::unordered_map<std::uint64_t, LocalSession::OpenArgs> open_args_;
  std::atomic<std::uint64_t> next_number_{0};
  std::shared_ptr<WindowPool> windows_;
  std::shared_ptr<CopyAgent> copy_agent_;
  std::shared_ptr<ReadAgent> engine_agent_;
  std::shared_ptr<NodeClient> client_;
};

/// Small splinters, with this number of slots at the start and at most; no readahead by default.
struct SmallPlan {
  std::uint64_t slots = 4;
  std::uint64_t slots_max = 4;
  std::uint64_t readahead = 0;
  EvictionPolicy eviction = EvictionPolicy::kReadOnce;

  static constexpr std::uint64_t kUnit = 4_KiB;
  operator ReadPlan() const {  // NOLINT: a SmallPlan is a ReadPlan in fewer words
    return {.budget_bytes = slots_max * kUnit,
            .readahead_bytes = readahead * kUnit,
            .eviction = eviction,
            .tuning = {.splinter_bytes = kUnit, .window_bytes = slots * kUnit}};
  }
};

inline constexpr std::uint64_t kUnit = SmallPlan::kUnit;

/// Reads `range` and checks the bytes, and that no byte around the buffer was written.
inline ::testing::AssertionResult reads_words(const Session& session, ByteRange range) {
  constexpr std::size_t kMargin = 64;
  constexpr std::byte kUntouched{0xA5};
  static thread_local std::vector<std::byte> memory;  // reused: sanitizers are slow with new memory
  memory.assign(range.size + 2 * kMargin, kUntouched);
  const std::span<std::byte> into = std::span(memory).subspan(kMargin, range.size);
  const Result<ByteCount> got = result_of(session.read(range.offset, into));
  if (!got) return ::testing::AssertionFailure() << got.error().message();
  if (*got != range.size) return ::testing::AssertionFailure() << *got << " of " << range.size;
  for (std::size_t i = 0; i < kMargin; ++i) {
    if (memory[i] != kUntouched || memory[memory.size() - 1 - i] != kUntouched)
      return ::testing::AssertionFailure() << "bytes beside the buffer were written";
  }
  return is_words(into, range.offset);
}

}  // namespace forebay::read
