// SPDX-License-Identifier: Apache-2.0
// StoredDataset and StoredStep: datasets as a program reads them back, on any number of ranks, each
// of which reads whatever parts and regions it likes. Writing is in <forebay/dataset.hpp>;
// docs/guides/datasets.md explains both.
#pragma once

#include <forebay/element_type.hpp>
#include <forebay/error.hpp>
#include <forebay/future.hpp>
#include <forebay/part.hpp>
#include <forebay/plan.hpp>
#include <forebay/range.hpp>

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
class DatasetCore;
class StepCore;
}  // namespace restore

enum class Verification : std::uint8_t {
  kOn,  ///< every piece that a read touches is read whole, and checked as it arrives
  /// Bytes are taken as they are, and only those that are asked for are read: also those of a later
  /// step, once whoever writes has dropped this one and its file serves that.
  kOff,
};

/// How a dataset is read.
struct StoredOptions {
  Verification verification = Verification::kOn;
  /// How many ranks may read data at a time, for storage that suffers from many readers; 0: all.
  /// The first rank's word counts. Ranks are cut into so many groups, in each of which one after
  /// the other reads, a request or a second each; who has a turn and does not use it, or dies,
  /// keeps nobody waiting for longer. Indexes are read by all.
  std::uint32_t readers_at_once = 0;
  /// Of the sessions on its files. What is left out is chosen for what a dataset needs: nothing is
  /// read ahead of what was asked for. Each rank reads for itself, whatever it says.
  ReadPlan plan = {};
};

enum class FieldKind : std::uint8_t {
  kParts,   ///< numbered parts, each with a shape of its own
  kGlobal,  ///< one array, of which blocks were written
};

/// "parts", "global".
std::string_view name_of(FieldKind kind) noexcept;

/// A field of a step.
struct StoredField {
  std::string name = {};
  ElementType type = ElementType::kBytes;
  ByteOrder order = ByteOrder::kLittle;  ///< as stored; what is read has that of this machine
  FieldKind kind = FieldKind::kParts;
  std::uint32_t dimensions = 1;
  Shape shape = {};                ///< of the global array; empty for parts
  std::uint64_t blocks = 0;        ///< parts, or blocks of the array, that are there
  std::uint64_t bytes = 0;         ///< of all of them
  std::uint64_t stored_bytes = 0;  ///< the same as they are stored
};

/// The types that read() takes: those that have an element type, to be written to.
template <class T>
concept StoredElement = !std::is_const_v<T> && element_type_of<T>().has_value();

/// One step, open: a small handle, copyable, for any thread. Nothing here is collective. Data files
/// stay open while it is about. Must not outlive its Runtime.
///
/// Errors of reads name file and offset, step, field, part or block, and piece. What is damaged
/// does not keep anything else from being read.
class StoredStep {
 public:
  std::uint64_t number() const noexcept;
  /// When it was begun, by the clock of whoever wrote it.
  std::chrono::system_clock::time_point written_at() const noexcept;
  /// By name.
  std::span<const StoredField> fields() const noexcept;
  /// Null if there is none of this name.
  const StoredField* find(std::string_view field) const noexcept;
  /// What of the step cannot be had, known from its tables alone: files that are gone or have no
  /// whole index, fields that contradict each other. Also parts that two files have, one of each
  /// field: reads return the first one found.
  std::span<const Error> damages() const noexcept;

  /// Parts of a field that can be found, by rising numbers: those in files that damages() names are
  /// not among them. kNotFound if there is no such field, kInvalidArgument if it is a global array.
  Result<std::vector<Part>> parts(std::string_view field) const;
  /// Of all parts, the ones of `rank` if `ranks` share them evenly: consecutive ones, as many as
  /// the others have or one less. If some may be in files that are lost, the Error of one of these:
  /// who restarts from a part of the data should know it. Any other mapping is the caller's to
  /// make.
  Result<std::vector<Part>> parts_of_rank(std::string_view field,
                                          std::uint32_t rank,
                                          std::uint32_t ranks) const;
  bool has(std::string_view field, Part part) const;
  /// kNotFound if there is no such part; if it may be in a file that is damaged, that file's Error.
  Result<Shape> shape(std::string_view field, Part part) const;
  Result<std::uint64_t> elements(std::string_view field, Part part) const;
  /// The same of many.
  Result<std::vector<std::uint64_t>> elements(std::string_view field,
                                              std::span<const Part> parts) const;

  // Reading. Each call returns at once; `into` has exactly the size of what is asked for, and must
  // stay alive until the Future is finished, cancelled or dropped. It is written only inside calls
  // on that Future (and this one, if the data is there); after an Error its content is undefined.
  // The Future has the bytes that were asked for. T is the element type of the field
  // (kInvalidArgument names both otherwise), or std::byte, which takes any type as it is: `into`
  // has the bytes then, everything else counts in elements all the same.

  /// A whole part.
  template <StoredElement T>
  Future<ByteCount> read(std::string_view field, Part part, std::span<T> into) const {
    return read_parts(target(field, into), std::span(&part, 1));
  }
  /// Elements of a part from `first_element` on, in C order. kOutOfRange if there are fewer.
  template <StoredElement T>
  Future<ByteCount> read(std::string_view field,
                         Part part,
                         std::uint64_t first_element,
                         std::span<T> into) const {
    return read_range(target(field, into), part, first_element);
  }
  /// Several parts as one request: one after the other in `into`, in the order given here. They are
  /// read in the order in which they lie in files.
  template <StoredElement T>
  Future<ByteCount> read(std::string_view field,
                         std::span<const Part> parts,
                         std::span<T> into) const {
    return read_parts(target(field, into), parts);
  }
  /// A region of a global array: region.start and .count in C order; .shape is empty or that of the
  /// array, all else is not looked at. It is read from whatever blocks were written. kNotFound if
  /// no block has some of it.
  template <StoredElement T>
  Future<ByteCount> read(std::string_view field, const Subarray& region, std::span<T> into) const {
    return read_region(target(field, into), region, {});
  }
  /// The same where that may be: what no block has becomes `fill`.
  template <StoredElement T>
  Future<ByteCount> read(std::string_view field,
                         const Subarray& region,
                         std::span<T> into,
                         const std::type_identity_t<T>& fill) const {
    return read_region(target(field, into), region, std::as_bytes(std::span(&fill, 1)));
  }

 private:
  friend class StoredDataset;
  /// What is to be read, and where to.
  struct Target {
    std::string_view field;
    ElementType type;
    std::span<std::byte> into;
  };
  template <class T>
  static Target target(std::string_view field, std::span<T> into) {
    return {field, *element_type_of<T>(), std::as_writable_bytes(into)};
  }
  explicit StoredStep(std::shared_ptr<restore::StepCore> core) noexcept : core_(std::move(core)) {}
  Future<ByteCount> read_parts(const Target& target, std::span<const Part> parts) const;
  Future<ByteCount> read_range(const Target& target, Part part, std::uint64_t first_element) const;
  Future<ByteCount> read_region(const Target& target,
                                const Subarray& region,
                                std::span<const std::byte> fill) const;

  std::shared_ptr<restore::StepCore> core_;
};

/// A dataset as it was when it was opened: a small handle, copyable, for any thread. Made by
/// Runtime::open_dataset(). Must not outlive its Runtime.
class StoredDataset {
 public:
  const std::string& path() const noexcept;
  /// Numbers of the steps, rising. The same on all ranks that opened it together.
  std::span<const std::uint64_t> steps() const noexcept;
  /// No value if it has none.
  std::optional<std::uint64_t> newest_step() const noexcept;
  /// Damages of the table of steps, found by the rank that read it: where there are some, older
  /// steps may be missing. Empty on the other ranks.
  std::span<const Error> damages() const noexcept;

  /// Opens a step: its data files and their indexes. Blocks; not collective. kNotFound if there is
  /// no such step, kClosed if it was dropped since this dataset was opened. That a file cannot be
  /// read is no Error here: see StoredStep::damages().
  Result<StoredStep> step(std::uint64_t number) const;

 private:
  friend class Runtime;
  explicit StoredDataset(std::shared_ptr<restore::DatasetCore> core) noexcept
      : core_(std::move(core)) {}

  std::shared_ptr<restore::DatasetCore> core_;
};

}  // namespace forebay
