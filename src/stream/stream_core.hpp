// SPDX-License-Identifier: Apache-2.0
// StreamCore: implementation of an OutputStream. It manages buffers, passes them as submissions to
// the queues of devices, takes them back, and holds the first error and the waiters.
#pragma once

#include <forebay/detail/origin_process.hpp>
#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/future.hpp>
#include <forebay/log.hpp>
#include <forebay/output_stream.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/buffer_pool.hpp"
#include "stream/completion_list.hpp"
#include "stream/device_queues.hpp"
#include "stream/file_core.hpp"
#include "stream/stream_timer.hpp"

namespace forebay::stream {

class StreamCore final : public QueueClient, public std::enable_shared_from_this<StreamCore> {
 public:
  struct Setup {
    StreamPlan plan;  ///< complete
    std::shared_ptr<DeviceQueues> queues;
    Executor* executor = nullptr;
    LogSink* log = nullptr;  ///< null: no logging
  };
  /// kLimit if there is no memory for the buffers.
  static Result<std::shared_ptr<StreamCore>> make(Setup setup);
  ~StreamCore() override;

  /// The public handle, which owns the core: its destructor ends the stream.
  static OutputStream make_handle(std::shared_ptr<StreamCore> core) {
    return OutputStream(std::move(core));
  }

  /// Also in a child of fork(). Success if the stream may be used: other calls are for the process
  /// that created it.
  Status check_process(const char* operation) const { return origin_.check(operation); }

  // As in OutputStream.
  Result<OutputFile> create(const std::string& path, const OutputFileOptions& options);
  Result<OutputBuffer> acquire();
  Result<OutputBuffer> acquire_at(const FileCore& file, std::uint64_t offset_bytes);
  Result<std::optional<OutputBuffer>> try_acquire();
  Future<OutputBuffer> acquire_async();
  Status submit(OutputBuffer buffer, FileCore& file, ByteRange range);
  /// Success if the handles belong to this stream.
  Status check_ownership(const OutputFile& file) const;
  Status check_ownership(const OutputFile& file, const OutputBuffer& buffer) const;
  Status write(FileCore& file, std::uint64_t offset_bytes, std::span<const std::byte> bytes);
  Status drain(Durability durability);
  Status drain_file(FileCore& file, Durability durability);
  Status publish(FileCore& file);
  Result<std::size_t> written(std::span<WriteCompletion> into);
  void cancel() noexcept;
  const StreamPlan& plan() const noexcept { return setup_.plan; }
  StreamReport report() const;

  /// Ends the stream: waits for all submissions, and releases the queues.
  void close() noexcept;
  /// The end of the Runtime: all calls fail with that reason.
  void abandon() noexcept;

  /// Returns a buffer unwritten. Any thread.
  void release_buffer(std::uint32_t index) noexcept;

  // Called by the queues.
  bool is_stopped() const noexcept override { return has_failed_.load(std::memory_order_acquire); }
  void fail(const Error& error) noexcept override;
  void complete_submission(Submission& submission) noexcept override;
  void complete_barrier(Barrier& barrier) noexcept override;
  void note_busy(TimePoint now) noexcept override { clock_.note_busy(now); }
  void note_idle(TimePoint now) noexcept override { clock_.note_idle(now); }

 private:
  class PendingBuffer;
  /// A buffer, acquired or in flight.
  struct Slot {
    std::optional<storage::Buffer> buffer;
    Submission submission;
  };
  /// Barriers of one wait.
  struct BarrierGroup {
    std::vector<Barrier> barriers;
    std::vector<std::shared_ptr<DeviceQueue>> queues;  ///< one for each
    std::size_t pending = 0;                           ///< under the lock of the stream
    /// Set if the wait was canceled: keeps the stream alive while queues still have barriers.
    std::shared_ptr<StreamCore> core;
  };

  explicit StreamCore(Setup setup, std::unique_ptr<storage::BufferPool> pool);
  tl::unexpected<Error> first_error();
  std::optional<OutputBuffer> try_take_buffer();
  std::optional<OutputBuffer> wait_for_buffer();
  void notify_free_buffer() noexcept;
  void signal_all() noexcept;
  Result<StreamDevice*> device_for(const storage::File& file, const OutputPlan& plan);
  std::shared_ptr<BarrierGroup> make_barrier_group(Durability durability);
  void add_files(BarrierGroup& group) const;
  static void push_barriers(const std::shared_ptr<BarrierGroup>& group);
  Status wait_for(const std::shared_ptr<BarrierGroup>& group);
  std::vector<std::shared_ptr<FileCore>> files() const;
  std::vector<std::weak_ptr<FileCore>> unreferenced_files() const;
  void close_files(const std::vector<std::weak_ptr<FileCore>>& unreferenced);
  void log_unreported_error() noexcept;

  const detail::OriginProcess origin_;
  const Setup setup_;
  const std::unique_ptr<storage::BufferPool> pool_;
  std::vector<Slot> slots_;
  StreamTimer clock_;
  CompletionList completions_;
  std::atomic<std::uint64_t> submissions_{0};

  std::atomic<bool> has_failed_{false};
  std::atomic<bool> is_cancelled_{false};
  std::atomic<bool> is_closed_{false};
  alignas(storage::kFalseSharingBytes) std::atomic<std::uint32_t> waiters_{0};

  mutable std::mutex mutex_;  // guards the following members
  std::condition_variable buffer_free_;
  std::condition_variable barrier_reached_;
  std::vector<detail::Waiter*> armed_waiters_;
  std::optional<Error> error_;
  bool is_error_reported_ = false;
  std::vector<std::unique_ptr<StreamDevice>> devices_;
  std::vector<std::shared_ptr<FileCore>> files_;
  std::uint32_t files_created_ = 0;
};

}  // namespace forebay::stream
