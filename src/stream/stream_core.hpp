// SPDX-License-Identifier: Apache-2.0
// StreamCore: what is behind an OutputStream. It lends buffers, turns them into parcels for the
// queues of devices, takes them back, keeps the first error, and knows who waits for what.
#pragma once

#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/future.hpp>
#include <forebay/log.hpp>
#include <forebay/origin_process.hpp>
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
#include "stream/stream_clock.hpp"

namespace forebay::stream {

class StreamCore final : public Client, public std::enable_shared_from_this<StreamCore> {
 public:
  struct Setup {
    StreamPlan plan;  ///< complete
    std::shared_ptr<DeviceQueues> queues;
    Executor* executor = nullptr;
    LogSink* log = nullptr;  ///< null: nobody listens
  };
  /// kLimit if there is no memory for the buffers.
  static Result<std::shared_ptr<StreamCore>> make(Setup setup);
  ~StreamCore() override;

  /// The public face of it. Its end is the stream's.
  static OutputStream face_of(std::shared_ptr<StreamCore> core) {
    return OutputStream(std::move(core));
  }

  /// Also in a child of fork(). Success where the stream may be used: the other calls are for the
  /// process that has made it.
  Status check_process(const char* operation) const { return origin_.check(operation); }

  // As OutputStream has them.
  Result<OutputFile> create(const std::string& path, const CreateOptions& options);
  Result<OutputBuffer> acquire();
  Result<OutputBuffer> acquire_at(const FileCore& file, std::uint64_t offset_bytes);
  Result<std::optional<OutputBuffer>> try_acquire();
  Future<OutputBuffer> acquire_async();
  Status submit(OutputBuffer buffer, FileCore& file, ByteRange range);
  /// Whether the handles are this stream's.
  Status check_own(const OutputFile& file) const;
  Status check_own(const OutputFile& file, const OutputBuffer& buffer) const;
  Status write(FileCore& file, std::uint64_t offset_bytes, std::span<const std::byte> bytes);
  Status drain(Durability durability);
  Status drain_file(FileCore& file, Durability durability);
  Status publish(FileCore& file);
  Result<std::size_t> written(std::span<Written> into);
  void cancel() noexcept;
  const StreamPlan& plan() const noexcept { return setup_.plan; }
  StreamReport report() const;

  /// The end of the stream: waits for what was submitted, and lets go of the queues.
  void close() noexcept;
  /// The Runtime's end: nothing goes on, for that reason.
  void abandon() noexcept;

  /// A buffer goes back unwritten. Any thread.
  void release(std::uint32_t index) noexcept;

  // The queues' side.
  bool gives_up() const noexcept override { return failed_.load(std::memory_order_acquire); }
  void fail(const Error& error) noexcept override;
  void give_back(Parcel& parcel) noexcept override;
  void reached(Barrier& barrier) noexcept override;
  void note_busy(TimePoint now) noexcept override { clock_.note_busy(now); }
  void note_idle(TimePoint now) noexcept override { clock_.note_idle(now); }

 private:
  class PendingBuffer;
  /// A buffer, lent or under way.
  struct Slot {
    std::optional<storage::Buffer> buffer;
    Parcel parcel;
  };
  /// Barriers that somebody waits for together.
  struct Gathering {
    std::vector<Barrier> barriers;
    std::vector<std::shared_ptr<DeviceQueue>> queues;  ///< one for each
    std::size_t left = 0;                              ///< under the lock of the stream
    /// Set by who does not wait to the end and may let go of the stream: queues have barriers yet.
    std::shared_ptr<StreamCore> core;
  };

  explicit StreamCore(Setup setup, std::unique_ptr<storage::BufferPool> pool);
  tl::unexpected<Error> first_error();
  std::optional<OutputBuffer> take();
  std::optional<OutputBuffer> wait_for_buffer();
  void tell_of_free_buffer() noexcept;
  void signal_all() noexcept;
  Result<Lane*> lane_for(const storage::File& file, const OutputPlan& plan);
  std::shared_ptr<Gathering> gather(Durability durability);
  void add_files(Gathering& gathering) const;
  static void push(const std::shared_ptr<Gathering>& gathering);
  Status wait_for(const std::shared_ptr<Gathering>& gathering);
  std::vector<std::shared_ptr<FileCore>> files() const;
  std::vector<std::weak_ptr<FileCore>> files_without_handles() const;
  void let_go_of(const std::vector<std::weak_ptr<FileCore>>& unheld);
  void log_untold_error() noexcept;

  const detail::OriginProcess origin_;
  const Setup setup_;
  const std::unique_ptr<storage::BufferPool> pool_;
  std::vector<Slot> slots_;
  StreamClock clock_;
  CompletionList completions_;
  std::atomic<std::uint64_t> submissions_{0};

  std::atomic<bool> failed_{false};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> closed_{false};
  alignas(storage::kHotAtomicBytes) std::atomic<std::uint32_t> waiters_{0};

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable buffer_free_;
  std::condition_variable barrier_reached_;
  std::vector<detail::Waiter*> armed_;
  std::optional<Error> error_;
  bool error_was_told_ = false;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::shared_ptr<FileCore>> files_;
  std::uint32_t files_created_ = 0;
};

}  // namespace forebay::stream
