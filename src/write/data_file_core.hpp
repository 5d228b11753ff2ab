// SPDX-License-Identifier: Apache-2.0
// DataFileCore: implementation of a DataFile. As a client of the device's queue it submits writes
// and syncs, and reports each result to its caller. It leaves the queue when the last of them is
// done and the file has no holder any more. OpenFileTable has the files that have not left yet.
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

/// The files of a writer that a queue may still use. Any thread.
class OpenFileTable {
 public:
  /// Adds a file. Returns the reason of cancel(), if that came first.
  std::optional<Error> add(const std::shared_ptr<DataFileCore>& core);
  /// The queue does not use the file any more, so it can be released.
  void mark_closed(const DataFileCore& core);
  /// Releases these files, on a thread that may wait for a file to close.
  void release_closed();
  /// The files in the table, and files added later, begin no more operations.
  void cancel(const Error& why);
  /// Blocks until no file is left.
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

  /// As in AsyncFileWriter. This object lives until they are done.
  void write(std::uint64_t offset_bytes, std::span<const std::byte> data, Done done);
  void sync(Done done) { add_barrier(stream::Durability::kSynced, std::move(done)); }
  void seal(std::uint64_t end_bytes, Done done);
  /// Blocks. Truncates the file if it is longer.
  Status cut(std::uint64_t end_bytes);
  /// Blocks.
  Status punch_hole(ByteRange place);

  /// No more operations begin, for this reason.
  void cancel(const Error& why) noexcept { fail(why); }
  /// No more operations follow: leaves the queue when all are done. Idempotent.
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
  // References that keep the file in the queue: one of its holders (until close()), and one of each
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
