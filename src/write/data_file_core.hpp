// SPDX-License-Identifier: Apache-2.0
// DataFileCore: implementation of a DataFile. As a client of the device's queue it submits writes
// and syncs, and reports each result to its caller. It leaves the queue when the DataFile is
// released and all operations are done. OpenFileTable has the files that a queue still uses.
#pragma once

#include <forebay/error.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "format/records.hpp"
#include "stream/device_queue.hpp"
#include "stream/output_file_state.hpp"
#include "stream/submission.hpp"
#include "write/blocking_executor.hpp"

namespace forebay::write {

class DataFileCore;

/// The files of an AsyncFileWriter that a queue may still use. Any thread.
class OpenFileTable {
 public:
  /// Adds a file. If cancel() was called before, returns its reason.
  std::optional<Error> add(const std::shared_ptr<DataFileCore>& core);
  /// Marks a file that the queue no longer uses, so that release_closed() releases it.
  void mark_closed(const DataFileCore& core);
  /// Releases the marked files. Blocks until they are closed.
  void release_closed();
  /// No file in the table, and none added later, begins another operation.
  void cancel(const Error& why);
  /// Blocks until all files are marked as closed.
  void wait_until_closed();

 private:
  std::mutex mutex_;
  std::condition_variable file_closed_;
  std::optional<Error> cancel_reason_;
  std::vector<std::shared_ptr<DataFileCore>> open_;
  std::vector<std::shared_ptr<DataFileCore>> closed_;
};

class DataFileCore final : public stream::QueueClient {
 public:
  using Done = std::function<void(const Status&)>;
  struct Setup {
    format::DataFileName name;
    std::shared_ptr<stream::DeviceQueue> queue;
    std::shared_ptr<stream::OutputFileState> file_state;
    stream::ClientLimits limits;
    std::shared_ptr<BlockingExecutor> blocking_executor;
    std::shared_ptr<OpenFileTable> files;
  };
  explicit DataFileCore(Setup setup);

  const format::DataFileName& name() const noexcept { return setup_.name; }
  storage::File& file() const noexcept { return setup_.file_state->file(); }

  /// As in AsyncFileWriter. This object lives until these operations are done.
  void write(std::uint64_t offset_bytes, std::span<const std::byte> data, Done done);
  void sync(Done done) { add_barrier(stream::Durability::kSynced, std::move(done)); }
  void seal(std::uint64_t end_bytes, Done done);
  /// Blocks. Truncates the file if it is longer.
  Status truncate_if_longer(std::uint64_t end_bytes);
  /// Blocks.
  Status punch_hole(ByteRange range);

  /// Operations that have not begun fail with `why`.
  void cancel(const Error& why) noexcept { fail(why); }
  /// Called after the last operation was added: leaves the queue when all are done. Idempotent.
  void close() noexcept;

  // Called by the queue.
  bool is_stopped() const noexcept override { return has_failed_.load(std::memory_order_acquire); }
  void fail(const Error& error) noexcept override;
  void fail_submission(stream::Submission& submission, const Error& error) noexcept override;
  void complete_submission(stream::Submission& submission) noexcept override;
  void complete_barrier(stream::Barrier& barrier) noexcept override;
  void note_busy(TimePoint /*now*/) noexcept override {}
  void note_idle(TimePoint /*now*/) noexcept override {}

 private:
  struct PendingWrite : stream::Submission {
    Done done;
    std::optional<Error> error;  ///< the first of its requests
  };
  struct PendingBarrier : stream::Barrier {
    Done done;
  };
  // The file stays in the queue while it has references: one until close(), and one for each
  // operation in flight.
  bool acquire_reference() noexcept;
  void release_reference() noexcept;
  void add_barrier(stream::Durability durability, Done done);
  void finish_seal(const Status& written, std::uint64_t end_bytes, const Done& done);
  void truncate_and_sync(std::uint64_t end_bytes, const Done& done);
  void complete_later(Done done);
  Status outcome() const;

  const Setup setup_;
  stream::ClientState client_state_;
  stream::Barrier final_barrier_;
  std::atomic<std::uint64_t> references_{1};
  std::atomic<bool> is_closed_{false};
  std::atomic<bool> has_failed_{false};
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace forebay::write
