// SPDX-License-Identifier: Apache-2.0
// DatasetDirectory: operations of an AsyncFileWriter on the names in its dataset's directory:
// create, open, keep for reuse, remove. All of them block, so they run on the BlockingExecutor.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>
#include <forebay/log.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "format/records.hpp"
#include "storage/file.hpp"
#include "storage/stripe_layout.hpp"

namespace forebay::write {

/// Prefix of the name of a file that is kept for reuse; the name that it had follows.
inline constexpr std::string_view kFreePrefix = "free-";

/// Least length of a new file on file systems where writes must not extend files (FUSE); twice the
/// expected size if that is more. No space is reserved for it. AsyncFileWriter::seal() truncates
/// the file.
inline constexpr std::uint64_t kInitialLengthBytes = std::uint64_t{256} << 20U;

/// One thread at a time.
class DatasetDirectory {
 public:
  struct Setup {
    std::string directory;
    format::DatasetId dataset = {};
    std::uint32_t files = 1;  ///< of one step
    storage::StripeHint stripes = {};
    LogSink* log = nullptr;  ///< receives a line if a file has other striping; null: no logging
    /// File system of the directory; no value: it is detected.
    std::optional<storage::FileSystem> file_system = {};
    std::size_t free_files_max = 0;
  };
  explicit DatasetDirectory(Setup setup)
      : setup_(std::move(setup)), file_system_(setup_.file_system) {}

  using FilePointer = std::unique_ptr<storage::File>;

  /// Creates a file of this name with a header. Reserves `expected_bytes` of space if the file
  /// system has more than twice that for all files of a step. See AsyncFileWriter::create().
  Result<FilePointer> create(const format::DataFileName& name,
                             std::uint64_t expected_bytes,
                             std::optional<Access> access = {});
  /// Opens an existing file. See AsyncFileWriter::open().
  Result<FilePointer> open(const format::DataFileName& name, std::optional<Access> access = {});
  /// Keeps the file for reuse. Removes it if it is marked bad, if its space is needed, or if
  /// free_files_max are kept.
  Status recycle(const format::DataFileName& name);
  /// Excludes a file from reuse, because its bytes could not be made durable.
  void mark_bad(const format::DataFileName& name) { bad_files_.insert(name); }
  Status remove(const format::DataFileName& name);
  /// Makes names durable.
  Status sync() const;

  /// Removes all files that are kept for reuse.
  void remove_free_files();

  std::size_t free_file_count() const noexcept { return free_.size(); }
  const std::string& path() const noexcept { return setup_.directory; }

 private:
  std::string path_of(const format::DataFileName& name) const;
  std::string free_path_of(const format::DataFileName& name) const;
  Access usual_access(std::uint64_t expected_bytes);
  storage::FileSystem file_system();
  Result<FilePointer> open_with(const std::string& path, storage::Intent intent, Access access);
  Result<bool> reuse_free_file(const format::DataFileName& name);
  Result<FilePointer> create_file(const std::string& path, Access access);
  Result<FilePointer> create_striped(const std::string& path, Access access);
  void check_stripes(const storage::File& file);
  void warn_default_striping(const std::string& why);
  Status initialize_file(storage::File& file,
                         const format::DataFileName& name,
                         std::uint64_t expected_bytes);
  void extend(storage::File& file, std::uint64_t expected_bytes);
  Status reserve(storage::File& file, std::uint64_t expected_bytes);

  const Setup setup_;
  std::optional<storage::FileSystem> file_system_;
  bool has_warned_striping_ = false;
  bool is_low_on_space_ = false;            ///< the last new file could not be reserved
  std::vector<format::DataFileName> free_;  ///< by the names that they had
  std::set<format::DataFileName> bad_files_;
};

}  // namespace forebay::write
