// SPDX-License-Identifier: Apache-2.0
// A dataset that is there: which steps, fields and blocks it has and where they lie. Damage of one
// file costs what is in that file; all else can be looked up.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "format/commits_file.hpp"
#include "format/index.hpp"
#include "storage/file.hpp"

namespace forebay::format {

/// One data file of a step with its index, or why not.
struct StepFile {
  FileEntry entry = {};
  std::string path = {};
  std::shared_ptr<storage::File> file = {};  ///< null if it is not kept open: see file_of()
  std::shared_ptr<const Index> index = {};
  std::optional<Error> damage = {};  ///< if there is no index
};

/// A field of a step, over all its files that are readable.
struct StepField {
  FieldDefinition definition = {};
  std::uint64_t blocks = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
};

/// Where a block is: valid for the StepCatalog that gave it out.
struct BlockPlace {
  std::uint32_t file = 0;    ///< in files()
  std::uint32_t field = 0;   ///< in the index of that file
  std::uint64_t number = 0;  ///< in that field

  friend bool operator==(const BlockPlace&, const BlockPlace&) = default;
};

/// A step. Immutable; any thread.
class StepCatalog {
 public:
  StepCatalog(StepEntry entry, std::vector<StepFile> files);

  const StepEntry& entry() const noexcept { return entry_; }
  std::span<const StepFile> files() const noexcept { return files_; }
  /// By name. A field that is another one in some file (type, kind, shape) is as in the first file
  /// that has it; the others are damages.
  std::span<const StepField> fields() const noexcept { return fields_; }
  const StepField* find_field(std::string_view name) const noexcept;
  /// Of files without an index, and of fields that contradict each other.
  std::span<const Error> damages() const noexcept { return damages_; }

  /// kNotFound if the step has no such field or part; if that may be since a file is damaged, its
  /// Error instead, with field and part.
  Result<BlockPlace> find_part(std::string_view field, std::uint64_t part) const;
  /// All blocks of a field, in the order of files and keys.
  std::vector<BlockPlace> blocks(std::string_view field) const;
  /// Parts of a field, or blocks that begin at the same element, that several files have: the first
  /// of them and each other one.
  std::vector<std::pair<BlockPlace, BlockPlace>> doubled(std::string_view field) const;
  /// The blocks of a global field that share an element with `box`; kInvalidArgument if that does
  /// not lie in the array. What of it no block has is for the caller to see.
  Result<std::vector<BlockPlace>> intersecting(std::string_view field, const Box& box) const;

  const Index& index(const BlockPlace& place) const noexcept;
  Block block(const BlockPlace& place) const noexcept;
  /// "step 42, field velocity, part 3", for Errors.
  std::string describe(const BlockPlace& place) const;

 private:
  void add_fields(std::uint32_t file);
  Error missing(std::string_view field, const std::string& what) const;

  StepEntry entry_;
  std::vector<StepFile> files_;
  std::vector<StepField> fields_;
  std::vector<std::vector<std::uint32_t>> field_numbers_;  ///< of each field, by file; kNone
  std::vector<Error> damages_;
};

/// A dataset as it was when it was opened. Any thread.
class Catalog {
 public:
  /// Reads `commits`. kNotFound if the folder has none, as open_commits() says.
  static Result<std::unique_ptr<Catalog>> open(const std::string& folder);

  const std::string& folder() const noexcept { return folder_; }
  const DatasetId& dataset() const noexcept { return commits_.state.dataset; }
  const LoadedCommits& commits() const noexcept { return commits_; }
  std::span<const StepEntry> steps() const noexcept { return commits_.steps; }
  const StepEntry* find_step(std::uint64_t step) const noexcept;

  /// Opens the files of a step and reads their indexes, the first time that somebody asks; the
  /// last few steps are kept. kNotFound if there is no such step. A file that cannot be read does
  /// not fail this: see StepCatalog::damages().
  Result<std::shared_ptr<const StepCatalog>> step(std::uint64_t step);

 private:
  Catalog(std::string folder, LoadedCommits commits);

  std::string folder_;
  LoadedCommits commits_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const StepCatalog>> kept_;  ///< newest use last
};

/// The path of a data file in its dataset.
std::string data_path(const std::string& folder, const DataFileName& name);

/// Of steps with more files, each is open only while somebody reads it: a process may have some
/// thousand files open, and a step may have more.
inline constexpr std::size_t kFilesKeptOpenMax = 256;

/// The file, opened anew if it was not kept open. It has an index.
Result<std::shared_ptr<storage::File>> file_of(const StepFile& file);

/// load_step_file() of all files of a step.
std::vector<StepFile> load_step_files(const std::string& folder,
                                      const DatasetId& dataset,
                                      const StepEntry& step);

/// Opens a file and reads one index, checked against what the step table says of it. What fails is
/// in StepFile::damage.
StepFile load_step_file(const std::string& folder,
                        const DatasetId& dataset,
                        const StepEntry& step,
                        const FileEntry& entry);

}  // namespace forebay::format
