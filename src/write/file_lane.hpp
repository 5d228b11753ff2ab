// SPDX-License-Identifier: Apache-2.0
// FileLane: the files of one dataset, as one rank writes them. It makes and opens them, keeps bytes
// under way to them through the queue of their device, makes them durable, gives back what was too
// much, and keeps the files of steps that are gone for later ones. Nothing here waits: each call is
// answered later, on a thread of the lane or of the queue.
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
#include "storage/stripes.hpp"
#include "stream/device_queues.hpp"

namespace forebay::write {

/// A file of the dataset that is open for writing. It is closed when the last one who has it lets
/// go and all that was asked of it is done. Any thread.
class DataFile {
 public:
  DataFile() = default;
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;
  virtual ~DataFile() = default;

  virtual const format::DataFileName& name() const noexcept = 0;
  virtual const std::string& path() const noexcept = 0;
  virtual Access access() const noexcept = 0;
  /// What offset, size and address of a write must be multiples of; 1 through the page cache.
  std::size_t alignment_bytes() const noexcept;
};

/// Any thread, but stop(). An interface, so that the roles of an agent can be tested without files
/// and threads; start() makes the one that there is. A lane is given its own files alone.
///
/// Answers come on a thread of the lane or of a queue, once for each call: they must not block, and
/// may call the lane again. After stop() they come on the caller's thread.
class FileLane {
 public:
  struct Setup {
    std::string folder;  ///< of the dataset; exists
    format::DatasetId dataset = {};
    stream::DeviceQueues* queues = nullptr;  ///< lives longer
    /// No value: past the page cache where that works and is what suits the file system.
    std::optional<Access> access = {};
    std::uint32_t files = 1;            ///< of one step, on all ranks
    storage::StripeWish stripes = {};   ///< of new files, where a file system lets itself be told
    std::uint64_t request_bytes = 0;    ///< 0: as streams choose it
    std::uint32_t requests = 0;         ///< under way for one file; 0: the same
    std::uint64_t in_flight_bytes = 0;  ///< the same in bytes; 0: as the device's limit
    std::uint32_t free_files_max = 64;  ///< kept of steps that are gone
    LogSink* log = nullptr;             ///< null: nobody listens
  };
  using Opened = std::function<void(Result<std::shared_ptr<DataFile>>)>;
  using Done = std::function<void(const Status&)>;

  /// kLimit if there is no thread.
  static Result<std::unique_ptr<FileLane>> start(Setup setup);
  FileLane() = default;
  FileLane(const FileLane&) = delete;
  FileLane& operator=(const FileLane&) = delete;
  /// As stop().
  virtual ~FileLane() = default;

  /// Makes a file, or takes a recycled one, whose bytes stay but for the header. Space for
  /// `expected_bytes` (header included) is reserved where the file system can, and would have as
  /// much left for all files of a step: those under way need it first. Without it the file grows as
  /// it is written. Where there is none for a header, recycled files are given up first, and then
  /// it is kNoSpace and nothing is left behind. What has the name already is left over from a step
  /// that never was, and goes. The name is durable after the next sync_folder(), the header after
  /// the next sync().
  virtual void create(format::DataFileName name, std::uint64_t expected_bytes, Opened opened) = 0;

  /// Opens a file that some rank's create() has made, to write to another part of it. Reserves
  /// nothing. kNotFound if it is not there, kDamage if it is another file's.
  virtual void open(format::DataFileName name, Opened opened) = 0;

  /// Bytes for a place of the file; the caller keeps them unchanged until `done`. Past the page
  /// cache all must suit alignment_bytes(), or it is kInvalidArgument. May be of any size; writes
  /// to one file are begun in the order of the calls, and end in any. One that fails stops no
  /// other.
  virtual void write(const std::shared_ptr<DataFile>& file,
                     std::uint64_t offset_bytes,
                     std::span<const std::byte> data,
                     Done done) = 0;

  /// When all writes before it have ended, and what they wrote is durable. Says nothing of writes
  /// that failed: those were told. If the system lost bytes (EIO), the file is of no use any more:
  /// all that is asked of it fails from then on, for everybody of this process who writes it.
  virtual void sync(const std::shared_ptr<DataFile>& file, Done done) = 0;

  /// The file will get no longer: what it has beyond `end_bytes` is given back, then as sync().
  /// For its owner, when everybody's bytes are there.
  virtual void seal(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes, Done done) = 0;

  /// What a file has beyond `end_bytes`, where nobody writes, is given back; also after stop(). It
  /// lasts when a sync does, and nobody waits for it.
  virtual void cut(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes) = 0;

  /// The same of places in its midst, where nobody writes any more that matters; a file system that
  /// cannot do it keeps them.
  virtual void punch(const std::shared_ptr<DataFile>& file, std::vector<ByteRange> places) = 0;

  /// Names of files made before are durable. Costs up to a third of a second on a busy disk.
  virtual void sync_folder(Done done) = 0;

  /// A file of which no step is left: kept under a name that readers do not look at, for a later
  /// create(). Removed if there are enough, if it could not be synced here, or if the file system
  /// had no room to reserve for the last create(). Readers that have it open go on to see its bytes
  /// until they are written over.
  virtual void recycle(format::DataFileName name, Done done) = 0;
  /// Removes what recycle() has kept: the room is needed now.
  virtual void give_up_free_files() = 0;
  /// Removes the file, also after stop(), and after a create() of it that was asked for before. One
  /// that is not there is no failure.
  virtual void remove(format::DataFileName name, Done done) = 0;

  /// Runs something that may block, on the lane's thread, in the order of the calls; it is run in
  /// any case, after stop() on the caller's thread.
  virtual void run(std::function<void()> errand) = 0;

  /// Ends all: what was not begun is answered with `why`. Waits for what storage works on, and
  /// until every call has had its answer. Files are closed then, and recycled ones removed. Not
  /// from an answer.
  virtual void stop(const Error& why) = 0;
};

}  // namespace forebay::write
