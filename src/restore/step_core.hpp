// SPDX-License-Identifier: Apache-2.0
// DatasetCore and StepCore: what the handles on a stored dataset share. A step turns what a user
// asks for into a WantList; stored_read.hpp reads it.
#pragma once

#include <forebay/origin_process.hpp>
#include <forebay/stored_dataset.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/catalog.hpp"
#include "restore/file_sessions.hpp"
#include "restore/step_list.hpp"
#include "restore/want.hpp"

namespace forebay::restore {

/// What is to be read of which field, and where to.
struct Wanted {
  std::string_view field;
  ElementType type = ElementType::kBytes;  ///< of the caller's memory
  std::uint64_t into_bytes = 0;
};

class StepCore {
 public:
  /// `folder` is that of the dataset.
  StepCore(std::string folder,
           std::shared_ptr<const format::StepCatalog> catalog,
           std::shared_ptr<FileSessions> sessions,
           Verification verification);

  const format::StepCatalog& catalog() const noexcept { return *catalog_; }
  const std::string& folder() const noexcept { return folder_; }
  const detail::OriginProcess& origin() const noexcept { return origin_; }
  const std::vector<Error>& damages() const noexcept { return damages_; }
  const std::vector<StoredField>& fields() const noexcept { return fields_; }
  FileSessions& sessions() const noexcept { return *sessions_; }
  Verification verification() const noexcept { return verification_; }

  const StoredField* find(std::string_view field) const noexcept;
  /// kNotFound, or the Error of a file that may have it; kInvalidArgument if it is of another kind.
  Result<const StoredField*> field_of(std::string_view name, FieldKind kind) const;
  Result<std::vector<Part>> parts(std::string_view field) const;
  /// The same; an Error if others may be in files that are lost.
  Result<std::vector<Part>> all_parts(std::string_view field) const;
  Result<Shape> shape(std::string_view field, Part part) const;
  Result<std::vector<std::uint64_t>> elements(std::string_view field,
                                              std::span<const Part> parts) const;

  /// What is to be read, checked.
  Result<WantList> want_parts(const Wanted& wanted, std::span<const Part> parts) const;
  Result<WantList> want_range(const Wanted& wanted, Part part, std::uint64_t first_element) const;
  /// `covered`: whether blocks have all of the region; if not, the rest of `into` is not written.
  Result<WantList> want_region(const Wanted& wanted, const Subarray& region, bool& covered) const;
  /// kNotFound: nobody wrote all of the region.
  Error not_covered(const Wanted& wanted) const;

  /// The Error that a reader gets instead of `error`: kClosed if bytes are wrong because the step
  /// was dropped meanwhile. Blocks.
  Error explained(const Error& error) const;

 private:
  Error failed(ErrorClass kind, std::string_view field, std::string cause) const;
  /// Something (`what`, as in "part 3 is") is in no file that can be read.
  Error missing(std::string_view field, const std::string& what) const;
  bool has_lost_files() const;
  Status check_apart(const Wanted& wanted, std::span<const format::BlockPlace> blocks) const;
  Result<const StoredField*> typed_field(const Wanted& wanted, FieldKind kind) const;
  Status check_bytes(const Wanted& wanted, std::uint64_t needed) const;
  Result<std::uint64_t> check_region(const StoredField& field, const Subarray& region) const;

  const detail::OriginProcess origin_;
  const std::string folder_;
  const std::shared_ptr<const format::StepCatalog> catalog_;
  const std::shared_ptr<FileSessions> sessions_;
  const Verification verification_;
  const std::vector<Error> damages_;
  const std::vector<StoredField> fields_;
};

class DatasetCore {
 public:
  struct Setup {
    std::string folder;
    StepList steps;
    StoredOptions options;
    OpenSession open_session;
    Executor* executor = nullptr;
    std::shared_ptr<comm::Turns> turns = nullptr;
  };
  explicit DatasetCore(Setup setup);

  const std::string& folder() const noexcept { return folder_; }
  const StepList& steps() const noexcept { return steps_; }
  std::span<const std::uint64_t> numbers() const noexcept { return numbers_; }

  /// As StoredDataset::step(). Those who open a step while somebody has it share its files.
  Result<std::shared_ptr<StepCore>> step(std::uint64_t number);

 private:
  Result<std::shared_ptr<StepCore>> open_step(const format::StepEntry& entry) const;

  const detail::OriginProcess origin_;
  const std::string folder_;
  const StepList steps_;
  const std::vector<std::uint64_t> numbers_;
  const Verification verification_;
  const std::shared_ptr<FileSessions> sessions_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<StepCore>> open_;
};

}  // namespace forebay::restore
