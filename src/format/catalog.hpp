// SPDX-License-Identifier: Apache-2.0
// Catalog: the steps, fields and blocks of an existing dataset, and their places. Damage of a file
// hides only the content of that file.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "format/attributes.hpp"
#include "format/index.hpp"
#include "format/load_commits.hpp"
#include "storage/file.hpp"

namespace forebay::format {

/// A data file of a step with its index, or an Error.
struct StepFile {
  FileEntry entry = {};
  std::string path = {};
  std::shared_ptr<storage::File> file = {};  ///< null if it is not kept open: see open_step_file()
  std::shared_ptr<const Index> index = {};
  std::optional<Error> error = {};  ///< if there is no index
  AttributeTable attributes = {};
  std::optional<Error> attributes_error = {};  ///< if there is an index, but not its attributes
};

/// A field of a step, over all its readable files.
struct StepField {
  FieldDefinition definition = {};
  std::uint64_t blocks = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
};

/// The place of a block: valid for the StepCatalog that returned it.
struct BlockLocation {
  std::uint32_t file = 0;    ///< in files()
  std::uint32_t field = 0;   ///< in the index of that file
  std::uint64_t number = 0;  ///< in that field

  friend bool operator==(const BlockLocation&, const BlockLocation&) = default;
};

/// A step. Immutable; any thread.
class StepCatalog {
 public:
  StepCatalog(StepEntry entry, std::vector<StepFile> files);

  const StepEntry& entry() const noexcept { return entry_; }
  std::span<const StepFile> files() const noexcept { return files_; }
  /// By name. If files define a field differently (type, kind, shape), the definition in the first
  /// of these files applies; the others are errors.
  std::span<const StepField> fields() const noexcept { return fields_; }
  const StepField* find_field(std::string_view name) const noexcept;
  /// Of all readable files. Of an attribute that files have with different values, the value in
  /// the first of these files; the others are errors.
  const AttributeMap& attributes() const noexcept { return attributes_; }
  /// Errors of files without an index or without its attributes, of fields with contradictory
  /// definitions, and of attributes with contradictory values.
  std::span<const Error> errors() const noexcept { return errors_; }

  /// kNotFound if the step has no such field or part. If that may be because a file is damaged, the
  /// Error of that file instead, with field and part.
  Result<BlockLocation> find_part(std::string_view field, std::uint64_t part) const;
  /// All blocks of a field, in the order of files and keys.
  std::vector<BlockLocation> blocks(std::string_view field) const;
  /// Parts of a field, or blocks with the same first element, that several files have: pairs of the
  /// first one and each other one.
  std::vector<std::pair<BlockLocation, BlockLocation>> duplicate_blocks(
      std::string_view field) const;
  /// The blocks of a global field that share an element with `box`; kInvalidArgument if `box`
  /// exceeds the array. Elements of `box` without a block are not reported.
  Result<std::vector<BlockLocation>> find_blocks(std::string_view field, const Box& box) const;

  const Index& index(const BlockLocation& location) const noexcept;
  Block block(const BlockLocation& location) const noexcept;
  /// "step 42, field velocity, part 3", for Errors.
  std::string describe(const BlockLocation& location) const;

 private:
  void add_fields(std::uint32_t file);
  void add_attributes();
  Error not_found_error(std::string_view field, const std::string& what) const;

  StepEntry entry_;
  std::vector<StepFile> files_;
  std::vector<StepField> fields_;
  std::vector<std::vector<std::uint32_t>> field_numbers_;  ///< of each field, by file; kNoField
  AttributeMap attributes_;
  std::vector<Error> errors_;
};

/// A dataset as of its opening. Any thread.
class Catalog {
 public:
  /// Reads `commits`. kNotFound as for open_commits() if it is missing.
  static Result<std::unique_ptr<Catalog>> open(const std::string& directory);

  const std::string& directory() const noexcept { return directory_; }
  const DatasetId& dataset() const noexcept { return commits_.state.dataset; }
  const LoadedCommits& commits() const noexcept { return commits_; }
  std::span<const StepEntry> steps() const noexcept { return commits_.steps; }
  const StepEntry* find_step(std::uint64_t step) const noexcept;

  /// Opens the files of a step and reads their indexes at the first call; the last few steps are
  /// cached. kNotFound if there is no such step. An unreadable file does not fail the call: see
  /// StepCatalog::errors().
  Result<std::shared_ptr<const StepCatalog>> step(std::uint64_t step);

 private:
  Catalog(std::string directory, LoadedCommits commits);

  std::string directory_;
  LoadedCommits commits_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const StepCatalog>> cached_steps_;  ///< most recently used last
};

/// The path of a data file in its dataset.
std::string data_path(const std::string& directory, const DataFileName& name);

/// In steps with more files, a file is open only while it is read: a process may have a few
/// thousand files open, and a step may have more.
inline constexpr std::size_t kOpenFilesMax = 256;

/// The file, reopened if it was not kept open. It must have an index.
Result<std::shared_ptr<storage::File>> open_step_file(const StepFile& file);

/// load_step_file() of all files of a step.
std::vector<StepFile> load_step_files(const std::string& directory,
                                      const DatasetId& dataset,
                                      const StepEntry& step);

/// Opens a file and reads one index, checked against the step table. Failures are in
/// StepFile::error.
StepFile load_step_file(const std::string& directory,
                        const DatasetId& dataset,
                        const StepEntry& step,
                        const FileEntry& entry);

}  // namespace forebay::format
