// SPDX-License-Identifier: Apache-2.0
// What tests of streams share: streams on any backend, with any faults, behind a gate that holds
// storage up; and files that are compared byte for byte. For tests only.
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
#include "stream/stream_core.hpp"

namespace forebay::stream {

using storage::FaultPlan;
using storage::fill_pattern;
using storage::matching_pattern;
using storage::pattern;

inline constexpr std::uint64_t kBuffer = 64_KiB;

/// Holds back what is asked of storage while it is closed.
class Gate {
 public:
  bool is_open() const { return open_.load(); }
  void close() { open_.store(false); }
  void open() {
    open_.store(true);
    const std::lock_guard lock(mutex_);
    for (storage::Backend* const backend : backends_)
      backend->wake();
  }
  void add(storage::Backend* backend) {
    const std::lock_guard lock(mutex_);
    backends_.push_back(backend);
  }
  /// Which files were written to, request by request.
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  /// A file system without room: reserving fails, and leaves files longer than they were.
  void reserve_in_part() { in_part_.store(true); }
  bool reserves_in_part() const { return in_part_.load(); }
  /// Storage that loses what it has taken, and says so at a sync.
  void lose_bytes() { loses_.store(true); }
  void lose_no_more() { loses_.store(false); }
  bool loses_bytes() const { return loses_.load(); }
  /// How often files were synced.
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
  std::atomic<bool> open_{true};
  std::atomic<bool> in_part_{false};
  std::atomic<bool> loses_{false};
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
  bool accepts(const storage::File& file) const noexcept override { return inner_->accepts(file); }
  std::size_t submit(std::span<const storage::Operation> operations) override {
    for (const storage::Operation& operation : operations) {
      gate_.note(operation);
      held_.push_back(operation);
      if (gate_.reserves_in_part() && operation.length_bytes > kRoomBytes)
        reserve_in_part(held_.back());
      if (gate_.loses_bytes() && operation.kind == storage::OperationKind::kSync)
        results_.emplace(operation.tag, -EIO);
    }
    pass_on();
    return operations.size();
  }
  std::size_t wait(std::span<storage::RawCompletion> completions, Deadline deadline) override {
    pass_on();
    const std::size_t count = inner_->wait(completions, deadline);
    for (storage::RawCompletion& completion : completions.first(count)) {
      if (const auto told = results_.extract(completion.tag)) completion.result = told.mapped();
    }
    return count;
  }
  void wake() noexcept override { inner_->wake(); }
  Status watch(int descriptor) override { return inner_->watch(descriptor); }
  bool take_watched() noexcept override { return inner_->take_watched(); }
  Status add_buffers(std::span<std::byte> arena) override { return inner_->add_buffers(arena); }
  void remove_buffers(std::span<const std::byte> arena) noexcept override {
    inner_->remove_buffers(arena);
  }

 private:
  static constexpr std::uint64_t kRoomBytes = 1_MiB;
  /// As ext4 does: as far as there is room, and then ENOSPC.
  void reserve_in_part(storage::Operation& operation) {
    operation.length_bytes = kRoomBytes;
    results_.emplace(operation.tag, -ENOSPC);
  }
  void pass_on() {
    if (!gate_.is_open() || held_.empty()) return;
    const std::size_t taken = inner_->submit(held_);
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(taken));
  }

  std::unique_ptr<Backend> inner_;
  Gate& gate_;
  std::vector<storage::Operation> held_;
  std::map<std::uint64_t, std::int64_t> results_;  ///< that operations will have, by tag
};

/// How a stream writes in a test.
struct Way {
  std::string name;
  storage::BackendChoice choice = storage::BackendChoice::kThreads;
  Access access = Access::kBuffered;
  std::optional<FaultPlan> faults = {};
};

inline std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }
inline std::string way_name(const ::testing::TestParamInfo<Way>& info) { return info.param.name; }

inline std::vector<Way> sound_ways() {
  using storage::BackendChoice;
  return {{"threads_buffered", BackendChoice::kThreads, Access::kBuffered},
          {"threads_direct", BackendChoice::kThreads, Access::kDirect},
          {"ring_buffered", BackendChoice::kRing, Access::kBuffered},
          {"ring_direct", BackendChoice::kRing, Access::kDirect},
          {"aio_buffered", BackendChoice::kAio, Access::kBuffered},
          {"aio_direct", BackendChoice::kAio, Access::kDirect}};
}

/// The same with storage that does everything by halves, and late.
inline std::vector<Way> all_ways() {
  std::vector<Way> ways = sound_ways();
  for (Way way : sound_ways()) {
    way.name += "_by_halves";
    way.faults = FaultPlan{
        .seed = 11, .short_transfer = 0.4, .interrupted = 0.2, .try_again = 0.1, .late = 0.3};
    ways.push_back(way);
  }
  return ways;
}

/// Streams, and the folder that they write to.
class Site {
 public:
  explicit Site(Way way, model::Profile profile = {}) : way_(std::move(way)) {
    queues_ = std::make_shared<DeviceQueues>(DeviceQueues::Options{
        .make_backend = [this](Access) { return make_backend(); }, .profile = std::move(profile)});
  }
  ~Site() { queues_->stop(); }
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  /// Why this way cannot be had here; empty if it can.
  std::string reason_against() const {
    if (const auto backend = make_backend(); !backend) return backend.error().message();
    if (way_.access == Access::kBuffered) return {};
    const auto file = storage::open_file(
        folder_ / "probe", {.intent = storage::Intent::kCreate, .access = Access::kDirect});
    return file ? std::string() : file.error().message();
  }

  std::shared_ptr<StreamCore> make_core(StreamPlan plan = {}) {
    if (!plan.access) plan.access = way_.access;
    if (plan.buffer_bytes == 0) plan.buffer_bytes = kBuffer;
    auto core = StreamCore::make(
        {.plan = plan_stream(plan).value(), .queues = queues_, .executor = &loop, .log = nullptr});
    EXPECT_TRUE(core) << core.error().message();
    return *core;
  }
  OutputStream make_stream(const StreamPlan& plan = {}) {
    return StreamCore::face_of(make_core(plan));
  }

  std::string operator/(const std::string& name) const { return folder_ / name; }
  DeviceQueues& queues() { return *queues_; }

  EventLoop loop;
  Gate gate;

 private:
  Result<std::unique_ptr<storage::Backend>> make_backend() const {
    auto backend = storage::make_backend(
        {.choice = way_.choice, .queue_depth = 16, .worker_count = 2, .worker_cpus = {}});
    if (!backend) return backend;
    if (way_.faults)
      *backend = std::make_unique<storage::FaultyBackend>(std::move(*backend), *way_.faults);
    return std::make_unique<GatedBackend>(std::move(*backend), const_cast<Gate&>(gate));
  }

  const Way way_;
  storage::TemporaryFolder folder_;
  std::shared_ptr<DeviceQueues> queues_;
};

/// Whether the file is `size_bytes` of the pattern, and nothing else.
inline ::testing::AssertionResult is_pattern(const std::string& path, std::size_t size_bytes) {
  const auto content = content_of(path);
  const std::size_t matching = matching_pattern(content, 0);
  if (content.size() == size_bytes && matching == size_bytes) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << path << " has " << content.size() << " bytes of "
                                       << size_bytes << ", and " << matching << " are right";
}

/// What must be there.
template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result) << (result ? "" : result.error().message());
  return std::move(result.value());
}
/// The temporary files beside `path`, whose names are random.
inline std::vector<std::string> temporaries_of(const std::filesystem::path& path) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(path.filename().string() + ".tmp-")) found.push_back(name);
  }
  return found;
}

inline ::testing::AssertionResult works(const Status& status) {
  if (status) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << status.error().message();
}

/// Hands over a range of the pattern, which fits a buffer.
inline Status submit_pattern(OutputStream& out, const OutputFile& file, ByteRange range) {
  auto buffer = out.acquire();
  if (!buffer) return failure(buffer.error());
  fill_pattern(buffer->bytes().first(range.size), range.offset);
  return out.submit(std::move(*buffer), file, range.offset, range.size);
}

/// The range in pieces of `piece_bytes`.
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

class StreamTest : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (const std::string reason = site.reason_against(); !reason.empty()) GTEST_SKIP() << reason;
  }
  Site site{GetParam()};
};

}  // namespace forebay::stream
