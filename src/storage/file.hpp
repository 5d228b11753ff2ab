// SPDX-License-Identifier: Apache-2.0
// File: one open file, behind an interface narrow enough for decorators: tracing, caching,
// throttling and faults. The synchronous calls are complete here; for many transfers at once,
// Engine takes the same File.
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

/// Linux moves at most this many bytes in one call; longer transfers are split.
inline constexpr std::size_t kTransferBytesMax = 0x7ffff000;

enum class Intent : std::uint8_t {
  kRead,       ///< opens an existing file, read only
  kWrite,      ///< opens an existing file, for reading and writing
  kCreate,     ///< as kWrite, and creates the file (mode 0666 and umask) if it does not exist;
               ///< never truncates
  kCreateNew,  ///< creates the file, for reading and writing; EEXIST if the name exists. If direct
               ///< access is refused, an empty file may remain
};

/// Kind of file system, as far as decisions depend on it.
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
  kOther,   ///< unknown: treated as remote
};

/// True if data travel to a server or another process. There the kernel's cache usually has
/// readahead and, except for FUSE, write-behind. Plan values measured on local disks are guesses
/// there. An unknown one counts as remote.
constexpr bool is_remote(FileSystem kind) noexcept {
  return kind == FileSystem::kNfs || kind == FileSystem::kFuse || kind == FileSystem::kLustre ||
         kind == FileSystem::kCluster || kind == FileSystem::kOther;
}

/// "ext", "xfs", ..., as printed and as written to JSON.
std::string_view name_of(FileSystem kind) noexcept;

/// Equal for two names of one file, different for two files; all of a device share `device`.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t file = 0;
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

/// An open file. All calls may come from several threads at once; the result of overlapping writes
/// is undefined. Offsets count from the start of the file. Closing (the destructor) waits for
/// nothing and reports nothing: call sync() for that. No operation on it may be in flight then.
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

  /// The descriptor of the operating system, or -1 for files without one (in memory, or wrapped by
  /// a decorator). For backends, and for queries of the open file. It must not be
  /// closed, and only a backend may read or write by it.
  virtual int descriptor() const noexcept = 0;

  /// As the system identified the file when it was opened; no value for files in memory.
  virtual std::optional<FileIdentity> identity() const noexcept { return std::nullopt; }

  /// The current size; for a block device its capacity.
  virtual Result<std::uint64_t> size() const = 0;

  /// Fills `into` from the file. A result below into.size() always means that the file ends there.
  /// Blocks. On failure the content of `into` is undefined.
  virtual Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) = 0;

  /// Writes all of `from`. Blocks. On failure any part of it may be in the file.
  virtual Result<std::size_t> write_at(std::span<const std::byte> from,
                                       std::uint64_t offset_bytes) = 0;

  /// Returns when written data is on stable storage (fdatasync).
  virtual Status sync() = 0;

  /// Reserves space for `range` and extends the file to its end. kUnsupported if the file system
  /// cannot.
  virtual Status allocate(ByteRange range) = 0;

  /// Reserves space for `range`; the size does not change. truncate() to the size frees the space
  /// beyond it. kUnsupported if the file system cannot.
  virtual Status reserve(ByteRange range) {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "reserve space of",
                    .path = path(),
                    .offset_bytes = range.offset});
  }

  /// Frees the space of `range`, which reads as zeros from then on; the size does not change.
  /// kUnsupported if the file system cannot.
  virtual Status punch_hole(ByteRange range) {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "free space of",
                    .path = path(),
                    .offset_bytes = range.offset});
  }

  /// Truncates or extends (by a hole) to exactly this size.
  virtual Status truncate(std::uint64_t size_bytes) = 0;

  /// Estimates the share of `range` (cut at the end of the file) that is in the page cache, 0 to 1,
  /// from a few samples. Cheap (microseconds) and without side effects: it loads no pages. No value
  /// if the system cannot report it, or if the range is empty.
  virtual std::optional<double> cached_fraction(ByteRange range) const = 0;

  /// Free space of its file system for all users, if reported; a quota may leave less.
  virtual std::optional<std::uint64_t> free_bytes() const { return std::nullopt; }
};

/// For Errors with errno ENOSPC or EDQUOT: the bytes requested from this file's storage and its
/// free space, if known. Empty for other errors.
std::string no_space_cause(const File& file, std::uint64_t requested_bytes, int error_number);

struct OpenOptions {
  Intent intent = Intent::kRead;
  Access access = Access::kBuffered;
};

/// Opens a regular file or a block device. kRead never creates a file. Anything else (a directory,
/// a FIFO) is an error of class kInvalidArgument, without blocking. If the file system refuses
/// direct access, the error is of class kUnsupported with the reason: open it buffered then.
Result<std::unique_ptr<File>> open_file(const std::string& path, OpenOptions options = {});

/// Opens the same file once more with the other kind of access, even if it was renamed meanwhile.
/// Errors as above. `file` stays open and must have a descriptor.
Result<std::unique_ptr<File>> reopen(const File& file, OpenOptions options);

/// The same for a descriptor, possibly passed by another process; the caller still owns it. `path`
/// is for messages.
Result<std::unique_ptr<File>> open_descriptor(int descriptor,
                                              const std::string& path,
                                              OpenOptions options);

/// True if a transfer at `offset_bytes` with this memory has file.alignment_bytes().
bool is_aligned(const File& file, std::uint64_t offset_bytes, std::span<const std::byte> memory);

}  // namespace forebay::storage
