// SPDX-License-Identifier: Apache-2.0
// Shared code of tests of streams: streams on any backend, with any faults, behind a gate that
// blocks storage; and byte-for-byte comparison of files. For tests only.
#pragma once

#include <forebay/output_stream.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "storage/conformance.hpp"
#include "storage/faulty.hpp"
#include "storage/probe.hpp"
#include "storage/testing.hpp"
#include "stream/plan.hpp"
#include "stream/stream_core.hpp"

namespace forebay::stream {

using storage::FaultPlan;
using storage::fill_pattern;
using storage::matching_pattern;
using storage::pattern;

inline constexpr std::uint64_t kBuffer = 64_KiB;

/// Delays requests to storage while it is closed.
class Gate {
 public:
  bool is_open() const { return is_open_.load(); }
  void close() { is_open_.store(false); }
  void open() {
    is_open_.store(true);
    const std::lock_guard lock(mutex_);
    for (storage::Backend* const backend : backends_)
      backend->wake();
  }
  void add(storage::Backend* backend) {
    const std::lock_guard lock(mutex_);
    backends_.push_back(backend);
  }
  /// The written file of each request, in order.
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  /// Simulates a full file system: reserving fails, and leaves files longer than they were.
  void fail_reservations_partially() { are_reservations_partial_.store(true); }
  bool are_reservations_partial() const { return are_reservations_partial_.load(); }
  /// Simulates storage that loses accepted bytes, and reports it at a sync.
  void fail_syncs() { are_syncs_failing_.store(true); }
  void stop_failing_syncs() { are_syncs_failing_.store(false); }
  bool are_syncs_failing() const { return are_syncs_failing_.load(); }
  /// Number of syncs.
  std::size_t syncs() const { return syncs_.load(); }
  void note(const storage::Operation& operation) {
    if (operation.kind == storage::OperationKind::kSync) ++syncs_;
    const std::lock_guard lock(mutex_);
    if (operation.kind == storage::OperationKind::kWrite)
      requests_.push_back(operation.file->path());
  }
  void remove(storage::Backend* backend) {
    const std::lock_guard lock(mutex_);
    std::erase(backends_, backend);
  }

 private:
  std::atomic<bool> is_open_{true};
  std::atomic<bool> are_reservations_partial_{false};
  std::atomic<bool> are_syncs_failing_{false};
  std::atomic<std::size_t> syncs_{0};
  std::mutex mutex_;
  std::vector<storage::Backend*> backends_;
  std::vector<std::string> requests_;
};

class GatedBackend final : public storage::Backend {
 public:
  GatedBackend(std::unique_ptr<Backend> inner, Gate& gate) : inner_(std::move(inner)), gate_(gate) {
    gate_.add(inner_.get());
  }
  ~GatedBackend() override { gate_.remove(inner_.get()); }
  std::string_view name() const noexcept override { return inner_->name(); }
  std::size_t capacity() const noexcept override { return inner_->capacity(); }
  bool can_submit(const storage::File& file) const noexcept override {
    return inner_->can_submit(file);
  }
  std::size_t submit(std::span<const storage::Operation> operations) override {
    for (const storage::Operation& operation : operations) {
      gate_.note(operation);
      held_.push_back(operation);
      if (gate_.are_reservations_partial() && operation.length_bytes > kRoomBytes)
        fail_reservations_partially(held_.back());
      if (gate_.are_syncs_failing() && operation.kind == storage::OperationKind::kSync)
        results_.emplace(operation.tag, -EIO);
    }
    forward_held();
    return operations.size();
  }
  std::size_t wait(std::span<storage::RawCompletion> completions, Deadline deadline) override {
    forward_held();
    const std::size_t count = inner_->wait(completions, deadline);
    for (storage::RawCompletion& completion : completions.first(count)) {
      if (const auto injected = results_.extract(completion.tag))
        completion.result = injected.mapped();
    }
    return count;
  }
  void wake() noexcept override { inner_->wake(); }
  Status watch(int descriptor) override { return inner_->watch(descriptor); }
  bool consume_watch_event() noexcept override { return inner_->consume_watch_event(); }
  Status register_buffers(std::span<std::byte> arena) override {
    return inner_->register_buffers(arena);
  }
  void unregister_buffers(std::span<const std::byte> arena) noexcept override {
    inner_->unregister_buffers(arena);
  }

 private:
  static constexpr std::uint64_t kRoomBytes = 1_MiB;
  /// As ext4 does: up to the available space, and then ENOSPC.
  void fail_reservations_partially(storage::Operation& operation) {
    operation.length_bytes = kRoomBytes;
    results_.emplace(operation.tag, -ENOSPC);
  }
  void forward_held() {
    if (!gate_.is_open() || held_.empty()) return;
    const std::size_t taken = inner_->submit(held_);
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(taken));
  }

  std::unique_ptr<Backend> inner_;
  Gate& gate_;
  std::vector<storage::Operation> held_;
  std::map<std::uint64_t, std::int64_t> results_;  ///< injected results, by tag
};

/// How a stream writes in a test.
struct StreamConfig {
  std::string name;
  BackendChoice choice = BackendChoice::kThreads;
  Access access = Access::kBuffered;
  std::optional<FaultPlan> faults = {};
};

inline std::ostream& operator<<(std::ostream& out, const StreamConfig& config) {
  return out << config.name;
}
inline std::string config_name(const ::testing::TestParamInfo<StreamConfig>& info) {
  return info.param.name;
}

inline std::vector<StreamConfig> fault_free_configs() {
  return {{"threads_buffered", BackendChoice::kThreads, Access::kBuffered},
          {"threads_direct", BackendChoice::kThreads, Access::kDirect},
          {"io_uring_buffered", BackendChoice::kIoUring, Access::kBuffered},
          {"io_uring_direct", BackendChoice::kIoUring, Access::kDirect},
          {"aio_buffered", BackendChoice::kAio, Access::kBuffered},
          {"aio_direct", BackendChoice::kAio, Access::kDirect}};
}

/// The same with storage that makes short, interrupted and late transfers.
inline std::vector<StreamConfig> all_configs() {
  std::vector<StreamConfig> ways = fault_free_configs();
  for (StreamConfig config : fault_free_configs()) {
    config.name += "_with_faults";
    config.faults = FaultPlan{
        .seed = 11, .short_transfer = 0.4, .interrupted = 0.2, .try_again = 0.1, .delayed = 0.3};
    ways.push_back(config);
  }
  return ways;
}

/// Streams, and their directory.
class StreamFixture {
 public:
  explicit StreamFixture(StreamConfig config, model::Profile profile = {})
      : config_(std::move(config)) {
    queues_ = std::make_shared<DeviceQueues>(DeviceQueues::Options{
        .make_backend = [this](Access) { return make_backend(); }, .profile = std::move(profile)});
  }
  ~StreamFixture() { queues_->stop(); }
  StreamFixture(const StreamFixture&) = delete;
  StreamFixture& operator=(const StreamFixture&) = delete;

  /// Why this configuration is not available here; empty if it is.
  std::string unavailable_reason() const {
    if (const auto backend = make_backend(); !backend) return backend.error().message();
    if (config_.access == Access::kBuffered) return {};
    const auto file = storage::open_file(
        directory_ / "probe", {.intent = storage::Intent::kCreate, .access = Access::kDirect});
    return file ? std::string() : file.error().message();
  }

  std::shared_ptr<StreamCore> make_core(StreamPlan plan = {}) {
    if (!plan.access) plan.access = config_.access;
    if (plan.buffer_bytes == 0) plan.buffer_bytes = kBuffer;
    auto core = StreamCore::make(
        {.plan = plan_stream(plan).value(), .queues = queues_, .executor = &loop, .log = nullptr});
    EXPECT_TRUE(core) << core.error().message();
    return *core;
  }
  OutputStream make_stream(const StreamPlan& plan = {}) {
    return StreamCore::make_handle(make_core(plan));
  }

  std::string operator/(const std::string& name) const { return directory_ / name; }
  DeviceQueues& queues() { return *queues_; }

  EventLoop loop;
  Gate gate;

 private:
  Result<std::unique_ptr<storage::Backend>> make_backend() const {
    auto backend = storage::make_backend(
        {.choice = config_.choice, .queue_depth = 16, .worker_count = 2, .worker_cpus = {}});
    if (!backend) return backend;
    if (config_.faults)
      *backend = std::make_unique<storage::FaultyBackend>(std::move(*backend), *config_.faults);
    return std::make_unique<GatedBackend>(std::move(*backend), const_cast<Gate&>(gate));
  }

  const StreamConfig config_;
  storage::TemporaryDirectory directory_;
  std::shared_ptr<DeviceQueues> queues_;
};

/// True if the file is `size_bytes` of the pattern, and nothing else.
inline ::testing::AssertionResult is_pattern(const std::string& path, std::size_t size_bytes) {
  const auto content = content_of(path);
  const std::size_t matching = matching_pattern(content, 0);
  if (content.size() == size_bytes && matching == size_bytes) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << path << " has " << content.size() << " bytes of "
                                       << size_bytes << ", and " << matching << " are right";
}

/// The value; the test fails without one.
template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result) << (result ? "" : result.error().message());
  return std::move(result.value());
}
/// The temporary files beside `path`, which have random names.
inline std::vector<std::string> temporary_files_of(const std::filesystem::path& path) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(path.filename().string() + ".tmp-")) found.push_back(name);
  }
  return found;
}

inline ::testing::AssertionResult is_ok(const Status& status) {
  if (status) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << status.error().message();
}

/// Submits a range of the pattern that fits a buffer.
inline Status submit_pattern(OutputStream& out, const OutputFile& file, ByteRange range) {
  auto buffer = out.acquire();
  if (!buffer) return failure(buffer.error());
  fill_pattern(buffer->bytes().first(range.size), range.offset);
  return out.submit(std::move(*buffer), file, range.offset, range.size);
}

/// Submits the range in pieces of `piece_bytes`.
inline Status submit_all(OutputStream& out,
                         const OutputFile& file,
                         ByteRange range,
                         std::uint64_t piece_bytes = kBuffer) {
  for (std::uint64_t done = 0; done < range.size; done += piece_bytes) {
    const std::uint64_t size = std::min(piece_bytes, range.size - done);
    if (const Status taken = submit_pattern(out, file, {range.offset + done, size}); !taken)
      return taken;
  }
  return {};
}

class StreamTest : public ::testing::TestWithParam<StreamConfig> {
 protected:
  void SetUp() override {
    if (const std::string reason = fixture.unavailable_reason(); !reason.empty())
      GTEST_SKIP() << reason;
  }
  StreamFixture fixture{GetParam()};
};

}  // namespace forebay::stream
