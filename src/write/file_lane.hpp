// SPDX-License-Identifier: Apache-2.0
// FileLane: the files of one dataset, as one rank writes them. It makes and opens them, keeps bytes
// under way to them through the queue of their device, makes them durable, gives back what was too
// much, and keeps the files of steps that are gone for later ones. Nothing here waits: each call is
// answered later, on a thread of the lane or of the queue.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "format/records.hpp"
#include "storage/file.hpp"
#include "storage/stripes.hpp"
#include "stream/device_queues.hpp"

namespace forebay::write {

class DataFileCore;
class DataFolder;
class Errands;
class OpenFiles;

/// A file of the dataset that is open for writing. It is closed when the last one who has it lets
/// go and all that was asked of it is done. Any thread.
class DataFile {
 public:
  explicit DataFile(std::shared_ptr<DataFileCore> core);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  const format::DataFileName& name() const noexcept;
  const std::string& path() const noexcept;
  Access access() const noexcept;
  /// What offset, size and address of a write must be multiples of; 1 through the page cache.
  std::size_t alignment_bytes() const noexcept;

 private:
  friend class FileLane;
  const std::shared_ptr<DataFileCore> core_;
};

/// Any thread, but stop().
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
    storage::StripeWish stripes = {};   ///< of new files, where a file system lets itself be told
    std::uint64_t request_bytes = 0;    ///< 0: as streams choose it
    std::uint32_t requests = 0;         ///< under way for one file; 0: the same
    std::uint64_t in_flight_bytes = 0;  ///< the same in bytes; 0: as the device's limit
    std::uint32_t free_files_max = 64;  ///< kept of steps that are gone
  };
  using Opened = std::function<void(Result<std::shared_ptr<DataFile>>)>;
  using Done = std::function<void(const Status&)>;

  /// kLimit if there is no thread.
  static Result<std::unique_ptr<FileLane>> start(Setup setup);
  /// As stop().
  ~FileLane();
  FileLane(const FileLane&) = delete;
  FileLane& operator=(const FileLane&) = delete;

  /// Makes a file, or takes a recycled one, whose bytes stay but for the header. Space for
  /// `expected_bytes` (header included) is reserved where the file system can; if there is none,
  /// recycled files are given up first, and then it is kNoSpace and nothing is left behind. What
  /// has the name already is left over from a step that never was, and goes. The name is durable
  /// after the next sync_folder(), the header after the next sync().
  void create(format::DataFileName name, std::uint64_t expected_bytes, Opened opened);

  /// Opens a file that some rank's create() has made, to write to another part of it. Reserves
  /// nothing. kNotFound if it is not there, kDamage if it is another file's.
  void open(format::DataFileName name, Opened opened);

  /// Bytes for a place of the file; the caller keeps them unchanged until `done`. Past the page
  /// cache all must suit alignment_bytes(), or it is kInvalidArgument. May be of any size; writes
  /// to one file are begun in the order of the calls, and end in any. One that fails stops no
  /// other.
  void write(const std::shared_ptr<DataFile>& file,
             std::uint64_t offset_bytes,
             std::span<const std::byte> data,
             Done done);

  /// When all writes before it have ended, and what they wrote is durable. Says nothing of writes
  /// that failed: those were told. If the system lost bytes (EIO), the file is of no use any more:
  /// all that is asked of it fails from then on, for everybody of this process who writes it.
  void sync(const std::shared_ptr<DataFile>& file, Done done);

  /// The file will get no longer: what it has beyond `end_bytes` is given back, then as sync().
  /// For its owner, when everybody's bytes are there; nothing else ever shortens a file.
  void seal(const std::shared_ptr<DataFile>& file, std::uint64_t end_bytes, Done done);

  /// Names of files made before are durable. Costs up to a third of a second on a busy disk.
  void sync_folder(Done done);

  /// A file of which no step is left: kept under a name that readers do not look at, for a later
  /// create(), or removed if there are enough. Readers that have it open go on to see its bytes
  /// until they are written over.
  void recycle(format::DataFileName name, Done done);
  /// Removes the file, also after stop(). One that is not there is no failure.
  void remove(format::DataFileName name, Done done);

  /// Runs something that may block, on the lane's thread, in the order of the calls; it is run in
  /// any case, after stop() on the caller's thread.
  void run(std::function<void()> errand);

  /// Ends all: what was not begun is answered with `why`. Waits for what storage works on, and
  /// until every call has had its answer. Files are closed then, and recycled ones removed. Not
  /// from an answer.
  void stop(const Error& why);

 private:
  struct Parts;
  explicit FileLane(Parts parts);
  Result<std::shared_ptr<DataFile>> open_here(const format::DataFileName& name,
                                              Result<std::unique_ptr<storage::File>> file);
  void finish_opening(const format::DataFileName& name,
                      Result<std::unique_ptr<storage::File>> file,
                      const Opened& opened);
  void errand(std::function<Status()> work, Done done);

  const Setup setup_;
  const std::shared_ptr<Errands> errands_;
  const std::shared_ptr<DataFolder> folder_;
  const std::shared_ptr<OpenFiles> files_;
};

}  // namespace forebay::write
