// SPDX-License-Identifier: Apache-2.0
// DriverFile: one file that HDF5 has open, with the bytes that the driver sec2 would return, read
// ahead by a session and written behind by a stream. Without HDF5, so other programs could use it.
#pragma once

#include <forebay/range.hpp>
#include <forebay/runtime.hpp>
#include <forebay/session.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sys/stat.h>

#include "hdf5/write_behind.hpp"

namespace forebay::hdf5 {

struct DriverOptions {
  std::uint64_t read_budget_bytes = 32_MiB;  ///< window of each file; 0: no read-ahead
  bool is_page_cache_first = true;           ///< reads files in the page cache without a session
  std::uint64_t write_budget_bytes = 8_MiB;  ///< buffers of each file; 0: no write-behind
};

/// Parses "read_budget=64MiB,write_budget=0". Fails with kInvalidArgument, naming the setting.
Result<DriverOptions> parse_driver_options(std::string_view text);

enum class LockKind : std::uint8_t { kShared, kExclusive };

/// How a file is opened.
struct OpenRequest {
  std::string path;
  int flags = 0;             ///< of open(2)
  bool is_coherent = false;  ///< other processes read or write the file meanwhile (SWMR)
};

/// Any thread, one call at a time waits for storage. A child of fork() continues with plain reads
/// and writes, without read-ahead.
class DriverFile {
 public:
  static Result<std::unique_ptr<DriverFile>> open(OpenRequest request,
                                                  const DriverOptions& options);
  /// Releases the Runtime of this process if no file is open.
  static void release_runtime() noexcept;
  ~DriverFile();
  DriverFile(const DriverFile&) = delete;
  DriverFile& operator=(const DriverFile&) = delete;

  /// Bytes beyond the end of the file are zeros, as HDF5 expects.
  Status read(std::uint64_t offset, std::span<std::byte> into);
  Status write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// All writes have reached the kernel, as after write(2).
  Status flush();
  Status truncate(std::uint64_t size_bytes);
  /// flush(), and closes the descriptor. Call once.
  Status close();

  /// Fails with EWOULDBLOCK if another open file has a lock that excludes this one.
  Status lock(LockKind kind);
  /// Afterwards other processes may read or write: from now on each call is a system call.
  Status unlock();
  /// The descriptor, for direct use by the program: the same holds.
  Result<int*> share_descriptor();

  std::uint64_t end() const noexcept { return end_; }
  const struct stat& identity() const noexcept { return status_; }

 private:
  friend class OpenFiles;
  DriverFile(OpenRequest request, const DriverOptions& options, int descriptor)
      : path_(std::move(request.path)),
        options_(options),
        descriptor_(descriptor),
        is_plain_(request.is_coherent) {}

  Status become_plain();
  Status drain();
  Status read_plain(std::uint64_t offset, std::span<std::byte> into) const;
  Status write_plain(std::uint64_t offset, std::span<const std::byte> bytes);
  bool read_cached(std::uint64_t offset, std::span<std::byte> into);
  bool read_ahead(std::uint64_t offset, std::span<std::byte> into);
  bool has_session_for(ByteRange range);
  void open_session();
  bool is_unchanged() const;
  Status open_stream();
  Error system_failure(const char* operation, std::optional<std::uint64_t> offset = {}) const;

  std::mutex mutex_;
  std::string path_;  // absolute
  DriverOptions options_;
  int descriptor_;
  struct stat status_{};   // when opened, or when the session was
  std::uint64_t end_ = 0;  // of the file, with bytes that are not written yet
  bool is_writable_ = false;
  bool is_locked_ = false;
  bool is_plain_;  // each call is a system call
  std::optional<Session> session_;
  std::unique_ptr<WriteBehind> write_behind_;
  std::optional<Error> write_error_;  // permanent: bytes are lost
};

}  // namespace forebay::hdf5
