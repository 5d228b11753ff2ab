// SPDX-License-Identifier: Apache-2.0
// DatasetReader and StepReader: read datasets back on any number of ranks, each of which reads any
// parts and selections. <forebay/dataset_writer.hpp> writes datasets; docs/guides/datasets.md
// explains both.
#pragma once

#include <forebay/attribute.hpp>
#include <forebay/detail/export.hpp>
#include <forebay/element_type.hpp>
#include <forebay/error.hpp>
#include <forebay/future.hpp>
#include <forebay/memory_layout.hpp>
#include <forebay/part.hpp>
#include <forebay/range.hpp>
#include <forebay/read_plan.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace forebay {

namespace restore {
class DatasetReaderCore;
class StepReaderCore;
}  // namespace restore

enum class Verification : std::uint8_t {
  kOn,  ///< every piece that a read touches is read completely, and verified when it arrives
  /// Only the requested bytes are read, and returned unverified. They may belong to a later step:
  /// the writer may have dropped this step and reused its file.
  kOff,
};

/// How a dataset is read.
struct DatasetReadOptions {
  Verification verification = Verification::kOn;
  /// Number of ranks that may read data at a time, for storage that slows down with many readers.
  /// 0: all. The value of the first rank applies. Ranks are split into that many groups, and one
  /// rank of a group reads at a time: until its requests are finished, and at most one second while
  /// others wait. A stopped first rank of a group delays its group. Indexes are read without a
  /// permit.
  std::uint32_t concurrent_readers_max = 0;
  /// Plan of the sessions on its files. Values left out are chosen for datasets: no readahead. Each
  /// rank reads for its own use, whatever the plan sets.
  ReadPlan plan = {};
};

enum class FieldKind : std::uint8_t {
  kParts,   ///< numbered parts, each with its own shape
  kGlobal,  ///< one global array, of which blocks were written
};

/// "parts", "global".
FOREBAY_EXPORT std::string_view name_of(FieldKind kind) noexcept;

/// A field of a step.
struct FieldInfo {
  std::string name = {};
  ElementType type = ElementType::kBytes;
  ByteOrder order = ByteOrder::kLittle;  ///< as stored; reads return the byte order of this machine
  FieldKind kind = FieldKind::kParts;
  std::uint32_t dimensions = 1;
  Shape shape = {};                ///< of the global array; empty for parts
  std::uint64_t blocks = 0;        ///< number of parts, or of blocks of the array, that exist
  std::uint64_t bytes = 0;         ///< size of all of them
  std::uint64_t stored_bytes = 0;  ///< size in the files, after compression
  std::vector<Attribute> attributes = {};  ///< sorted by name
};

/// Memory that read() fills: a contiguous range whose values have an element type. A temporary
/// vector or array is not one, because the Future outlives the call.
template <class R>
concept WritableElementRange = ElementRange<R> && WritableRange<R>;

/// An open step: a small handle, copyable, usable from any thread. Nothing here is collective. Its
/// data files stay open while a handle exists. Must not outlive its Runtime.
///
/// Errors of reads name file and offset, step, field, part or block, and piece. Damage never
/// prevents reads of other data.
class FOREBAY_EXPORT StepReader {
 public:
  std::uint64_t number() const noexcept;
  /// Time of begin_step(), by the clock of the first rank that wrote it.
  std::chrono::system_clock::time_point begin_time() const noexcept;
  /// Sorted by name.
  std::span<const FieldInfo> fields() const noexcept;
  /// Null if no field has this name.
  const FieldInfo* find(std::string_view field) const noexcept;
  /// Attributes of the step, sorted by name.
  std::span<const Attribute> attributes() const noexcept;
  /// Attributes of the dataset as of this step, sorted by name.
  std::span<const Attribute> dataset_attributes() const noexcept;
  /// What of the step is unreadable, as far as its tables show; data is not checked. Files that are
  /// missing or have no complete index or attributes, fields and attributes that contradict each
  /// other: of an attribute, the value in the first file is taken. Also parts that exist in
  /// two files, one Error for each field: reads return the first copy.
  std::span<const Error> errors() const noexcept;

  /// Parts of a field that the indexes list, by increasing number; their data may still be damaged.
  /// Parts in files without a readable index are left out. Fails with kNotFound for an unknown
  /// field, and with kInvalidArgument for a global array.
  Result<std::vector<Part>> parts(std::string_view field) const;
  /// The share of `rank` if `ranks` ranks split all parts evenly: consecutive parts; the counts of
  /// two ranks differ by at most one. If parts may be in lost files, fails with the Error of
  /// one such file, so that no restart from partial data goes unnoticed. A program with another
  /// mapping makes its own list.
  Result<std::vector<Part>> parts_of_rank(std::string_view field,
                                          std::uint32_t rank,
                                          std::uint32_t ranks) const;
  bool has(std::string_view field, Part part) const;
  /// Fails with kNotFound if the part does not exist. If it may be in a damaged file, fails with
  /// the Error of that file.
  Result<Shape> shape(std::string_view field, Part part) const;
  Result<std::uint64_t> element_count(std::string_view field, Part part) const;
  /// The same for many parts.
  Result<std::vector<std::uint64_t>> element_count(std::string_view field,
                                                   std::span<const Part> parts) const;

  // Reading. Each call returns at once. `into` has exactly the requested size, or holds the
  // elements as `layout` describes; of such memory, only the requested elements are written. It
  // must stay alive until the Future is finished, cancelled or dropped. It is written only inside
  // calls on that Future, and inside the read() call if the data is present. After an Error its
  // content is undefined. The Future returns the number of requested bytes. The values of `into`
  // have the element type of the field; otherwise kInvalidArgument names both types. They may also
  // be std::byte, which reads any type unconverted: the size of `into` is then in bytes, all other
  // arguments still count elements.

  /// Reads a whole part. With `layout`, pieces are copied straight to their place in memory.
  template <WritableElementRange R>
  Future<ByteCount> read(std::string_view field,
                         Part part,
                         R&& into,
                         const MemoryLayout& layout = {}) const {
    return read_part(read_target(field, into), part, layout);
  }
  /// Reads elements of a part from `first_element` on, in C order. Fails with kOutOfRange if the
  /// part has fewer.
  template <WritableElementRange R>
  Future<ByteCount> read(std::string_view field,
                         Part part,
                         std::uint64_t first_element,
                         R&& into) const {
    return read_range(read_target(field, into), part, first_element);
  }
  /// Reads several parts as one request, one after the other in `into`, in the order given. Storage
  /// is read in file order.
  template <WritableElementRange R>
  Future<ByteCount> read(std::string_view field, std::span<const Part> parts, R&& into) const {
    return read_parts(read_target(field, into), parts);
  }
  /// Reads a selection of a global array: selection.start and selection.count, in C order.
  /// selection.shape is empty or that of the array, selection.order is kC; other members are
  /// ignored. The selection is assembled from all blocks that it touches. Fails with kNotFound if
  /// any of its elements is in no block.
  template <WritableElementRange R>
  Future<ByteCount> read(std::string_view field,
                         const Subarray& selection,
                         R&& into,
                         const MemoryLayout& layout = {}) const {
    return read_selection(read_target(field, into), selection, layout, {});
  }
  /// The same for a selection that is not fully written: elements in no block become `fill`. Other
  /// memory, such as ghost layers, is not written.
  template <WritableElementRange R>
  Future<ByteCount> read(std::string_view field,
                         const Subarray& selection,
                         R&& into,
                         const std::ranges::range_value_t<R>& fill) const {
    return read(field, selection, into, MemoryLayout(), fill);
  }
  template <WritableElementRange R>
  Future<ByteCount> read(std::string_view field,
                         const Subarray& selection,
                         R&& into,
                         const MemoryLayout& layout,
                         const std::ranges::range_value_t<R>& fill) const {
    return read_selection(read_target(field, into), selection, layout,
                          std::as_bytes(std::span(&fill, 1)));
  }

 private:
  friend class DatasetReader;
  /// A field and the memory to read it into.
  struct ReadTarget {
    std::string_view field;
    ElementType type;
    std::span<std::byte> into;
  };
  template <class R>
    requires WritableElementRange<R&>
  static ReadTarget read_target(std::string_view field, R& into) {
    return {field, *element_type_of<std::ranges::range_value_t<R>>(), writable_bytes(into)};
  }
  explicit StepReader(std::shared_ptr<restore::StepReaderCore> core) noexcept
      : core_(std::move(core)) {}
  Future<ByteCount> read_part(const ReadTarget& target,
                              Part part,
                              const MemoryLayout& layout) const;
  Future<ByteCount> read_parts(const ReadTarget& target, std::span<const Part> parts) const;
  Future<ByteCount> read_range(const ReadTarget& target,
                               Part part,
                               std::uint64_t first_element) const;
  Future<ByteCount> read_selection(const ReadTarget& target,
                                   const Subarray& selection,
                                   const MemoryLayout& layout,
                                   std::span<const std::byte> fill) const;

  std::shared_ptr<restore::StepReaderCore> core_;
};

/// A dataset in the state in which it was opened: a small handle, copyable, usable from any thread.
/// Runtime::open_dataset() makes one. Must not outlive its Runtime.
class FOREBAY_EXPORT DatasetReader {
 public:
  const std::string& path() const noexcept;
  /// Step numbers in increasing order. The same on all ranks that opened the dataset together.
  std::span<const std::uint64_t> steps() const noexcept;
  /// No value if the dataset has no steps.
  std::optional<std::uint64_t> newest_step() const noexcept;
  /// Damage of the list of steps, found by the rank that read it. If not empty, older steps may be
  /// missing. Empty on all other ranks.
  std::span<const Error> errors() const noexcept;

  /// Opens a step: its data files and their indexes. Blocks; not collective. Fails with kNotFound
  /// if the step does not exist, and with kClosed if it was dropped since the dataset was opened. A
  /// file that cannot be read is no Error here: see StepReader::errors().
  Result<StepReader> open_step(std::uint64_t number) const;
  /// Attributes of the dataset: those of its newest step, sorted by name; none without steps. Opens
  /// that step, so it blocks and fails as open_step(). If a file of that step cannot be read, fails
  /// with the Error of the file, so that no missing attribute goes unnoticed:
  /// StepReader::dataset_attributes() returns those that are left.
  Result<std::vector<Attribute>> attributes() const;

 private:
  friend class Runtime;
  explicit DatasetReader(std::shared_ptr<restore::DatasetReaderCore> core) noexcept
      : core_(std::move(core)) {}

  std::shared_ptr<restore::DatasetReaderCore> core_;
};

}  // namespace forebay
