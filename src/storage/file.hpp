// SPDX-License-Identifier: Apache-2.0
// One open file, behind an interface narrow enough to be wrapped: tracing, caching, throttling and
// faults are decorators of File, and storage knows none of them. The synchronous calls are complete
// here; many transfers at once go through Engine, which takes the same File.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace forebay::storage {

/// Linux moves at most this many bytes in one call, whatever it is asked for; longer transfers are
/// cut up.
inline constexpr std::size_t kTransferBytesMax = 0x7ffff000;

enum class Intent : std::uint8_t {
  kRead,       ///< opens what exists, read only
  kWrite,      ///< opens what exists, for reading and writing
  kCreate,     ///< as kWrite, and makes the file (mode 0666 and umask) if it does not exist; never
               ///< truncates
  kCreateNew,  ///< makes the file, for reading and writing; EEXIST if the name is taken. What is
               ///< refused (direct access) may leave an empty file behind
};

/// What a file lives on, as far as decisions depend on it.
enum class FileSystem : std::uint8_t {
  kExt,
  kXfs,
  kBtrfs,
  kTmpfs,
  kNfs,
  kFuse,
  kLustre,
  kCluster,  ///< GPFS, BeeGFS, CephFS, WekaFS, PanFS, OrangeFS, AFS, SMB or 9P
  kOverlay,
  kMemory,  ///< a MemoryFile
  kOther,   ///< not known: to be treated as remote
};

/// Whether data travel to a server or to another process: there the kernel's cache has read-ahead
/// and write-behind, and what suits a local device is a guess. An unknown one counts as remote.
constexpr bool is_remote(FileSystem kind) noexcept {
  return kind == FileSystem::kNfs || kind == FileSystem::kFuse || kind == FileSystem::kLustre ||
         kind == FileSystem::kCluster || kind == FileSystem::kOther;
}

/// "ext", "xfs", ..., as printed and as written to JSON.
std::string_view name_of(FileSystem kind) noexcept;

/// An open file. All calls may come from several threads at once; what overlapping writes leave
/// behind is undefined. Offsets count from the start of the file. Closing (the destructor) waits
/// for nothing and reports nothing: call sync() for that. No operation may be under way on it then.
class File {
 public:
  virtual ~File() = default;

  /// As the user named it.
  virtual const std::string& path() const noexcept = 0;
  virtual FileSystem file_system() const noexcept = 0;
  virtual Access access() const noexcept = 0;

  /// Granularity of offset, length and memory address of a transfer: a power of two, 1 for buffered
  /// files. A direct transfer that is not aligned is an error of class kInvalidArgument.
  virtual std::size_t alignment_bytes() const noexcept = 0;

  /// The descriptor of the operating system, or -1 for files that have none (in memory, or wrapped
  /// by a decorator). Only a backend may use it, and only for the operations that File has too.
  virtual int descriptor() const noexcept = 0;

  /// The current size; for a block device its capacity.
  virtual Result<std::uint64_t> size() const = 0;

  /// Fills `into` from the file. A count below into.size() means that the file ends there, never
  /// anything else. Blocks. On failure the content of `into` is undefined.
  virtual Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) = 0;

  /// Writes all of `from`. Blocks. On failure any part of it may be in the file.
  virtual Result<std::size_t> write_at(std::span<const std::byte> from,
                                       std::uint64_t offset_bytes) = 0;

  /// Returns when what was written is on stable storage (fdatasync).
  virtual Status sync() = 0;

  /// Reserves space for `range` and extends the file to its end. kUnsupported where the file system
  /// cannot.
  virtual Status allocate(ByteRange range) = 0;

  /// Reserves space for `range`; the size stays. truncate() to the size frees what lies beyond it.
  /// kUnsupported where the file system cannot.
  virtual Status reserve(ByteRange range) {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "reserve space of",
                    .path = path(),
                    .offset_bytes = range.offset});
  }

  /// Gives back the space of `range`, which reads as zeros from then on; the size stays.
  /// kUnsupported where the file system cannot.
  virtual Status punch(ByteRange range) {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "give back space of",
                    .path = path(),
                    .offset_bytes = range.offset});
  }

  /// Cuts or extends (by a hole) to exactly this size.
  virtual Status truncate(std::uint64_t size_bytes) = 0;

  /// An estimate of the share of `range` (cut at the end of the file) that is in the page cache, 0
  /// to 1, from a few samples. Cheap (microseconds) and harmless: it reads nothing in. No value if
  /// the system cannot say, or if the range is empty.
  virtual std::optional<double> cached_fraction(ByteRange range) const = 0;

  /// What its file system has left for everybody, if it says; a quota may leave less.
  virtual std::optional<std::uint64_t> free_bytes() const { return std::nullopt; }
};

/// For Errors: how many bytes were wanted of this file's storage, and how many it has, where that
/// is why (ENOSPC, EDQUOT); empty elsewhere.
std::string cause_of_no_space(const File& file, std::uint64_t wanted_bytes, int error_number);

struct OpenOptions {
  Intent intent = Intent::kRead;
  Access access = Access::kBuffered;
};

/// Opens a regular file or a block device. Reading never creates anything. Anything else (a
/// directory, a FIFO) is an error of class kInvalidArgument and is not waited for. If the file
/// system refuses direct access, the error is of class kUnsupported and says why: open it buffered
/// then.
Result<std::unique_ptr<File>> open_file(const std::string& path, OpenOptions options = {});

/// Opens the same file once more with the other kind of access, even if it was renamed meanwhile.
/// Errors as above. `file` stays open and must have a descriptor.
Result<std::unique_ptr<File>> reopen(const File& file, OpenOptions options);

/// The same for a descriptor, perhaps of another process that passed it on; it stays the caller's.
/// `path` is for messages.
Result<std::unique_ptr<File>> open_descriptor(int descriptor,
                                              const std::string& path,
                                              OpenOptions options);

/// True if a transfer at `offset_bytes` with this memory suits file.alignment_bytes().
bool is_aligned(const File& file, std::uint64_t offset_bytes, std::span<const std::byte> memory);

}  // namespace forebay::storage
