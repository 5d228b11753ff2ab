// SPDX-License-Identifier: Apache-2.0
// DataFolder: what a lane does with the names of its dataset's folder. Files are made, found, set
// aside for later use, and removed; all of it blocks, so all of it is done as errands.
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
#include "storage/stripes.hpp"

namespace forebay::write {

/// With it begins the name of a file that is kept for later use; the rest is the name that it had.
inline constexpr std::string_view kFreePrefix = "free-";

/// The length of a new file whose bytes are not known yet, where a file gets one before it is
/// written. No space is reserved for it, and sealing cuts it.
inline constexpr std::uint64_t kUnknownLengthBytes = std::uint64_t{256} << 20U;

/// One thread at a time.
class DataFolder {
 public:
  struct Setup {
    std::string folder;
    format::DatasetId dataset = {};
    std::optional<Access> access = {};
    std::uint32_t files = 1;  ///< of one step
    storage::StripeWish stripes = {};
    LogSink* log = nullptr;  ///< hears of wishes that are not granted; null: nobody does
    /// What the folder lies on; no value: that is looked at.
    std::optional<storage::FileSystem> file_system = {};
    std::size_t free_files_max = 0;
  };
  explicit DataFolder(Setup setup) : setup_(std::move(setup)), file_system_(setup_.file_system) {}

  using FilePointer = std::unique_ptr<storage::File>;

  /// A file of this name with a header, and with space for so many bytes where the file system has
  /// more than twice that for all files of a step. See FileLane::create().
  Result<FilePointer> create(const format::DataFileName& name, std::uint64_t expected_bytes);
  /// One that is there. See FileLane::open().
  Result<FilePointer> open(const format::DataFileName& name);
  /// Sets it aside; removes one that is not to be trusted, or whose room is needed.
  Status recycle(const format::DataFileName& name);
  /// Its bytes could not be made durable: it is not to be used again.
  void distrust(const format::DataFileName& name) { distrusted_.insert(name); }
  Status remove(const format::DataFileName& name);
  /// Makes names durable.
  Status sync() const;

  /// Removes what was set aside.
  void give_up_free_files();

  std::size_t free_files() const noexcept { return free_.size(); }
  const std::string& path() const noexcept { return setup_.folder; }

 private:
  std::string path_of(const format::DataFileName& name) const;
  std::string free_path_of(const format::DataFileName& name) const;
  Access access_for(std::uint64_t expected_bytes);
  storage::FileSystem file_system();
  Result<FilePointer> open_with(const std::string& path, storage::Intent intent, Access access);
  Result<bool> take_free_file(const format::DataFileName& name);
  Result<FilePointer> make(const std::string& path, Access access);
  Result<FilePointer> make_striped(const std::string& path, Access access);
  void check_stripes(const storage::File& file);
  void say_default_stripes(const std::string& why);
  Status fill(storage::File& file, const format::DataFileName& name, std::uint64_t expected_bytes);
  void lengthen(storage::File& file);
  Status reserve(storage::File& file, std::uint64_t expected_bytes);

  const Setup setup_;
  std::optional<storage::FileSystem> file_system_;
  bool has_said_default_stripes_ = false;
  bool lacks_room_ = false;                 ///< for what the last new file was to have reserved
  std::vector<format::DataFileName> free_;  ///< by the names that they had
  std::set<format::DataFileName> distrusted_;
};

}  // namespace forebay::write
