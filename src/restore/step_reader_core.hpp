// SPDX-License-Identifier: Apache-2.0
// DatasetReaderCore and StepReaderCore: the state that handles to a stored dataset share. A step
// converts a request of the user to a BlockRequestList; dataset_read_request.hpp reads it.
#pragma once

#include <forebay/dataset_reader.hpp>
#include <forebay/detail/origin_process.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/catalog.hpp"
#include "restore/block_request.hpp"
#include "restore/file_session_cache.hpp"
#include "restore/piece_cache.hpp"
#include "restore/step_list.hpp"

namespace forebay::restore {

/// The field to read, and the memory for it.
struct FieldRequest {
  std::string_view field;
  ElementType type = ElementType::kBytes;  ///< of the caller's memory
  std::uint64_t memory_bytes = 0;
};

/// A selection as a list of blocks.
struct SelectionRequest {
  BlockRequestList list;
  /// Blocks have all elements of the selection. If not, the memory of missing ones is not written.
  bool is_covered = true;
  format::MemoryPlacement memory;  ///< of the selection
  std::uint64_t element_bytes = 1;
};

class StepReaderCore {
 public:
  /// `directory` is that of the dataset.
  StepReaderCore(std::string directory,
                 std::shared_ptr<const format::StepCatalog> catalog,
                 std::shared_ptr<FileSessionCache> sessions,
                 std::shared_ptr<PieceCache> pieces,
                 Verification verification);

  const format::StepCatalog& catalog() const noexcept { return *catalog_; }
  const std::string& directory() const noexcept { return directory_; }
  const detail::OriginProcess& origin() const noexcept { return origin_; }
  const std::vector<Error>& errors() const noexcept { return errors_; }
  const std::vector<FieldInfo>& fields() const noexcept { return fields_; }
  const std::vector<Attribute>& attributes() const noexcept { return attributes_; }
  const std::vector<Attribute>& dataset_attributes() const noexcept { return dataset_attributes_; }
  FileSessionCache& sessions() const noexcept { return *sessions_; }
  Verification verification() const noexcept { return verification_; }
  PieceCache& pieces() const noexcept { return *pieces_; }

  const FieldInfo* find(std::string_view field) const noexcept;
  /// Fails with kNotFound, or with the Error of a file that may have the field, and with
  /// kInvalidArgument for a field of another kind.
  Result<const FieldInfo*> require_field(std::string_view name, FieldKind kind) const;
  Result<std::vector<Part>> parts(std::string_view field) const;
  /// The same. Fails if other parts may be in lost files.
  Result<std::vector<Part>> complete_parts(std::string_view field) const;
  Result<Shape> shape(std::string_view field, Part part) const;
  Result<std::vector<std::uint64_t>> element_counts(std::string_view field,
                                                    std::span<const Part> parts) const;

  /// The requested blocks, after all checks.
  Result<BlockRequestList> request_parts(const FieldRequest& request,
                                         std::span<const Part> parts) const;
  /// The requested part, in memory with this layout.
  Result<BlockRequestList> request_part(const FieldRequest& request,
                                        Part part,
                                        const MemoryLayout& layout) const;
  Result<BlockRequestList> request_range(const FieldRequest& request,
                                         Part part,
                                         std::uint64_t first_element) const;
  Result<SelectionRequest> request_selection(const FieldRequest& request,
                                             const Subarray& selection,
                                             const MemoryLayout& layout) const;
  /// kNotFound: no block has some of the selection.
  Error not_covered_error(const FieldRequest& request) const;

  /// The Error for the user: kClosed if bytes are wrong because the step was dropped meanwhile,
  /// else `error`. Blocks.
  Error translate_error(const Error& error) const;

 private:
  Error make_error(ErrorClass kind, std::string_view field, std::string cause) const;
  /// `what` (as in "part 3 is") is in no readable file.
  Error not_found_error(std::string_view field, const std::string& what) const;
  bool has_lost_files() const;
  Status check_no_overlap(const FieldRequest& request,
                          std::span<const format::BlockLocation> blocks) const;
  Result<const FieldInfo*> check_type(const FieldRequest& request, FieldKind kind) const;
  Status check_size(const FieldRequest& request, std::uint64_t needed) const;
  Result<format::MemoryPlacement> place(const FieldRequest& request,
                                        const MemoryLayout& layout,
                                        const Shape& count,
                                        std::uint64_t element_bytes) const;
  Result<std::uint64_t> check_selection(const FieldInfo& field, const Subarray& selection) const;

  const detail::OriginProcess origin_;
  const std::string directory_;
  const std::shared_ptr<const format::StepCatalog> catalog_;
  const std::shared_ptr<FileSessionCache> sessions_;
  const std::shared_ptr<PieceCache> pieces_;
  const Verification verification_;
  const std::vector<Error> errors_;
  const std::vector<FieldInfo> fields_;
  const std::vector<Attribute> attributes_;
  const std::vector<Attribute> dataset_attributes_;
};

class DatasetReaderCore {
 public:
  struct Setup {
    std::string directory;
    StepList steps;
    DatasetReadOptions options;
    FileSessionOpener open_session;
    Executor* executor = nullptr;
    std::shared_ptr<comm::ConcurrencyLimiter> limiter = nullptr;
  };
  explicit DatasetReaderCore(Setup setup);

  const std::string& directory() const noexcept { return directory_; }
  const StepList& steps() const noexcept { return steps_; }
  std::span<const std::uint64_t> step_numbers() const noexcept { return step_numbers_; }

  /// As DatasetReader::open_step(). All handles to the same open step share its files.
  Result<std::shared_ptr<StepReaderCore>> step(std::uint64_t number);

 private:
  Result<std::shared_ptr<StepReaderCore>> open_step(const format::StepEntry& entry) const;

  const detail::OriginProcess origin_;
  const std::string directory_;
  const StepList steps_;
  const std::vector<std::uint64_t> step_numbers_;
  const Verification verification_;
  const std::shared_ptr<FileSessionCache> sessions_;
  const std::shared_ptr<PieceCache> pieces_ = std::make_shared<PieceCache>();
  std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<StepReaderCore>> open_steps_;
};

}  // namespace forebay::restore
