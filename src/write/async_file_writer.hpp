// SPDX-License-Identifier: Apache-2.0
// AsyncFileWriter: asynchronous operations of one rank on the files of one dataset. It creates and
// opens files, writes through the queue of their device, syncs, returns unused space, and keeps
// files of dropped steps for reuse. Calls do not wait, except stop(). Results arrive later, on a
// thread of the writer or of a queue.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>
#include <forebay/log.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/records.hpp"
#include "storage/stripe_layout.hpp"
#include "stream/device_queues.hpp"

namespace forebay::write {

/// A file of the dataset, open for writing. It is closed when its last reference is released and
/// all its operations have completed. Any thread.
class DataFile {
 public:
  DataFile() = default;
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;
  virtual ~DataFile() = default;

  virtual const format::DataFileName& name() const noexcept = 0;
  virtual const std::string& path() const noexcept = 0;
  virtual Access access() const noexcept = 0;
  /// Offset, size and address of a write must be multiples of this; 1 through the page cache.
  std::size_t alignment_bytes() const noexcept;
};

/// Any thread, except stop(). An interface, so that tests of roles need no files and no threads;
/// start() creates the implementation. A writer accepts only files that it has opened.
///
/// Each call runs its callback exactly once, on a thread of the writer or of a queue. Callbacks
/// must not block, and may call the writer. After stop() they run on the caller's thread.
class AsyncFileWriter {
 public:
  struct Setup {
    std::string directory;  ///< of the dataset; must exist
    format::DatasetId dataset = {};
    stream::DeviceQueues* queues = nullptr;  ///< must outlive the writer
    std::uint32_t files = 1;                 ///< of one step, on all ranks
    storage::StripeHint stripes = {};        ///< of new files, if the file system supports it
    std::uint64_t request_bytes = 0;         ///< 0: as for streams
    std::uint32_t requests = 0;              ///< in flight to one file; 0: as for streams
    std::uint64_t in_flight_bytes = 0;       ///< in flight to one file; 0: the device's limit
    std::uint32_t free_files_max = 64;       ///< files of dropped steps that are kept
    LogSink* log = nullptr;                  ///< null: no logging
  };
  using OpenCallback = std::function<void(Result<std::shared_ptr<DataFile>>)>;
  using Done = std::function<void(const Status&)>;

  /// kLimit if no thread can be started.
  static Result<std::unique_ptr<AsyncFileWriter>> start(Setup setup);
  AsyncFileWriter() = default;
  AsyncFileWriter(const AsyncFileWriter&) = delete;
  AsyncFileWriter& operator=(const AsyncFileWriter&) = delete;
  /// As stop().
  virtual ~AsyncFileWriter() = default;

  /// Creates a file, or reuses a recycled one, which keeps its bytes except the header. Reserves
  /// space for `expected_bytes` (header included) if the file system supports it and has twice that
  /// for each file of a step: steps in flight need the other half. Without a reservation the file
  /// grows as it is written. If space is short, recycled files are removed. Without space for the
  /// header, fails with kNoSpace and leaves nothing behind. Removes an existing file of that name:
  /// it belongs to a step that was never published. The name is durable after the next
  /// sync_directory(), the header after the next sync(). Without `access`, it is
  /// direct where that works and suits file system and expected length.
  virtual void create(format::DataFileName name,
                      std::uint64_t expected_bytes,
                      std::optional<Access> access,
                      OpenCallback opened) = 0;

  /// Opens a file that another rank has created, to write other ranges of it. Reserves nothing.
  /// Without `access`, as for a long file. kNotFound if it does not exist, kDamage if it has the
  /// header of another file.
  virtual void open(format::DataFileName name,
                    std::optional<Access> access,
                    OpenCallback opened) = 0;

  /// Writes `data` at an offset. The caller keeps the bytes unchanged until `done`. With direct
  /// access, offset, size and address must be multiples of alignment_bytes(); otherwise fails with
  /// kInvalidArgument. Any size. Writes to one file begin in the order of the calls, and end in any
  /// order. A failed write stops no other.
  virtual void write(const std::shared_ptr<DataFile>& file,
                     std::uint64_t offset_bytes,
                     std::span<const std::byte> data,
                     Done done) = 0;

  /// Completes when all earlier writes have ended and their bytes are durable. Does not report
  /// failed writes; their callbacks do. If the system lost bytes (EIO), the file is unusable:
  /// all later operations on it fail, for every writer of this process.
  virtual void sync(const std::shared_ptr<DataFile>& file, Done done) = 0;

  /// Truncates the file to `end_bytes`, then acts as sync(). For the file's owner, once the bytes
  /// of all ranks are written.
  virtual void seal(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes, Done done) = 0;

  /// Truncates the file to `end_bytes`, beyond which no rank writes; also after stop(). Durable
  /// with a later sync. No callback.
  virtual void truncate(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes) = 0;

  /// As truncate(), for ranges inside the file whose bytes are no longer needed. Does nothing on
  /// file systems that cannot punch holes.
  virtual void punch_hole(const std::shared_ptr<DataFile>& file, std::vector<ByteRange> ranges) = 0;

  /// Makes the names of created files durable. Takes up to a third of a second on a busy disk.
  virtual void sync_directory(Done done) = 0;

  /// Keeps a file without live steps for a later create(), under a name that readers ignore.
  /// Removes it instead in three cases: enough files are kept, a sync of it failed here, or the
  /// file system had no space to reserve for the last create(). Readers that have it open see its
  /// bytes until they are overwritten.
  virtual void recycle(format::DataFileName name, Done done) = 0;
  /// Removes all files that recycle() has kept, because their space is needed.
  virtual void remove_free_files() = 0;
  /// Removes the file; also after stop(). Runs after an earlier create() of the same name. A
  /// missing file is no failure.
  virtual void remove(format::DataFileName name, Done done) = 0;

  /// Runs `task`, which may block, on the writer's thread, in the order of the calls. It always
  /// runs; after stop(), on the caller's thread.
  virtual void run_blocking(std::function<void()> task) = 0;

  /// Ends the writer: operations that have not begun fail with `why`. Blocks until storage has
  /// finished and every callback has run. Then closes files and removes recycled ones. Must not be
  /// called from a callback.
  virtual void stop(const Error& why) = 0;
};

}  // namespace forebay::write
