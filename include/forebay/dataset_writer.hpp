// SPDX-License-Identifier: Apache-2.0
// DatasetWriter and StepWriter: write datasets as steps that become visible completely or not at
// all, while the program computes. A step consists of named fields. A field has numbered parts, or
// is one global array, which ranks put as blocks. Agents write them as a WritePlan describes. Only
// Runtime::create_dataset() is collective. begin_step(), close() and, with kCollective, put() may
// block until other ranks have committed earlier steps. <forebay/dataset_reader.hpp> reads
// datasets.
#pragma once

#include <forebay/attribute.hpp>
#include <forebay/buffer.hpp>
#include <forebay/detail/export.hpp>
#include <forebay/element_type.hpp>
#include <forebay/error.hpp>
#include <forebay/future.hpp>
#include <forebay/memory_layout.hpp>
#include <forebay/part.hpp>
#include <forebay/range.hpp>
#include <forebay/write_plan.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forebay {

namespace write {
class DatasetWriterCore;
class StepWriterCore;
}  // namespace write

/// What create_dataset() does with a directory that holds steps of a dataset.
enum class ExistingDataset : std::uint8_t {
  kFail,    ///< fails with kExists; a dataset without steps is used as it is
  kAppend,  ///< adds steps to it; creates it if it does not exist
};

/// How a dataset is created.
struct DatasetOptions {
  ExistingDataset existing = ExistingDataset::kFail;
  /// Absent: the plan that FOREBAY_PLAN names (see write_plan_from_environment()), else one that
  /// the library chooses.
  std::optional<WritePlan> plan = std::nullopt;
  /// Tries plans in the first steps, about 15, then uses the fastest one: a Receipt states which
  /// plan a step had, and why. Values that `plan` sets do not change. If the storage changes its
  /// speed later, tries again. Read on the first rank.
  bool tune = false;
  /// Path of a tuning profile (docs/formats/tuning-profile.md). Its plan, if one applies to the
  /// machine and the ranks, replaces the one that the library chooses. With `tune`, close() adds
  /// the measurements of this run to the file. Empty: the variable FOREBAY_TUNING, else none. Read
  /// on the first rank.
  std::string profile = {};
};

/// The outcome of a commit: the step is synced to storage and published, and survives a power
/// failure.
struct Receipt {
  std::uint64_t step = 0;
  /// Time for which the application of this rank was blocked, in begin_step(), put() and commit()
  /// together.
  std::chrono::nanoseconds perceived_time{};
  /// From begin_step() until the whole step, with the bytes of all ranks, was durable.
  std::chrono::nanoseconds durable_time{};
  std::uint64_t bytes = 0;          ///< that this rank has put
  std::uint64_t copied_bytes = 0;   ///< of `bytes`: copied into staging memory by put()
  std::uint64_t adopted_bytes = 0;  ///< of `bytes`: written from adopted buffers, without a copy
  /// The complete plan by which the step was written; `reason` explains it.
  std::shared_ptr<const WritePlan> plan = nullptr;
};

/// A step in progress on one rank. Move-only; used by one thread at a time. Destruction without
/// commit() aborts the step.
class FOREBAY_EXPORT [[nodiscard]] StepWriter {
 public:
  StepWriter(StepWriter&& other) noexcept = default;
  StepWriter& operator=(StepWriter&& other) noexcept;
  ~StepWriter();

  std::uint64_t number() const noexcept;

  /// Adds a part of a field. `data` is any contiguous range: a vector, a std::array, a std::span, a
  /// C array. Copies the bytes before it returns. `shape` has as many elements as `data`; left out:
  /// one dimension. With a `layout`, `data` has the elements where it describes, and `shape` must
  /// be given; put() copies them without a temporary copy. A field has the same element type and
  /// number of dimensions in all its parts, on all ranks. Each part is put once in a step, by any
  /// rank; it may be empty. Not collective.
  ///
  /// Blocks while no staging memory is free, at most for the plan's step timeout;
  /// StagingFullPolicy::kFail does not block. Then fails with kLimit. After an Error the step
  /// cannot be committed: commit() returns the same Error.
  template <ElementRange R>
  Status put(std::string_view field,
             Part part,
             R&& data,
             const Shape& shape = {},
             const MemoryLayout& layout = {}) {
    return put_part(typed_field<R>(field), part, shape, std::as_bytes(std::span(data)), layout);
  }
  /// Adds a block of a global array, in C order unless `layout` describes another. block.shape is
  /// the same on all ranks. Blocks of one array must not overlap: overlap fails the step. Elements
  /// that no rank puts are absent. block.order must be kC, else kInvalidArgument; element_bytes and
  /// array_offset are ignored.
  template <ElementRange R>
  Status put(std::string_view field,
             const Subarray& block,
             R&& data,
             const MemoryLayout& layout = {}) {
    return put_block(typed_field<R>(field), block, std::as_bytes(std::span(data)), layout);
  }
  /// The same without a copy: storage is written from the buffer, which then returns to its
  /// Runtime. `put<double>("velocity", part, adopt(std::move(buffer)), shape)`. put() copies bytes
  /// nevertheless that are compressed, that `layout` does not place in one contiguous run, or whose
  /// run does not begin at a multiple of 4 KiB in the buffer; then it returns the buffer to its
  /// Runtime. The Receipt counts both kinds. After a failure, `data` still has the buffer: see
  /// AdoptedBuffer::take().
  template <class T>
    requires(element_type_of<T>().has_value())
  Status put(std::string_view field,
             Part part,
             AdoptedBuffer&& data,
             const Shape& shape = {},
             const MemoryLayout& layout = {}) {
    return adopt_part({field, *element_type_of<T>()}, part, shape, std::move(data), layout);
  }
  template <class T>
    requires(element_type_of<T>().has_value())
  Status put(std::string_view field,
             const Subarray& block,
             AdoptedBuffer&& data,
             const MemoryLayout& layout = {}) {
    return adopt_block({field, *element_type_of<T>()}, block, std::move(data), layout);
  }

  /// Sets an attribute of the step, such as its simulated time. Copies the value. Any rank may set
  /// it, one rank is enough; if ranks set it to different values, the step fails, and the Error
  /// names two of them. A second call on this rank replaces the value. Fails with kInvalidArgument
  /// for a name that is not 1 to 255 bytes of UTF-8 without control characters, and for a value
  /// that is longer than kAttributeBytesMax, no UTF-8, or of another size than its shape. Fails
  /// with kLimit above 65,536 attributes or 16 MiB of them in a file of the step. After an Error
  /// the step cannot be committed. Not collective; does not block.
  Status set_attribute(std::string_view name, const AttributeValue& value);
  /// Sets an attribute of a field, such as its units, in the same way. If no rank puts the field in
  /// this step, the step fails.
  Status set_field_attribute(std::string_view field,
                             std::string_view name,
                             const AttributeValue& value);

  /// Declares that this rank has put all its parts and blocks. Returns at once; the step continues,
  /// and this handle is empty. The Future is ready when the bytes of all ranks are durable and the
  /// step is published, or when the step has failed.
  ///
  /// The Error names the failed rank and the cause. Earlier steps are unchanged, and later ones can
  /// be written, unless a rank has ended. Four Errors may leave open whether the step is
  /// published. kClosed: the first rank ended, or this Runtime ended while the step was in
  /// progress. kPermission: another program took the dataset over. kNotFound: `commits` was
  /// removed. kIo: storage failed while the step was published, and again while it was withdrawn.
  /// cancel() and the end of the Future discard the Receipt and have no effect on the step.
  Future<Receipt> commit();

  /// Aborts the step on all ranks: it is never visible.
  void abort() noexcept;

 private:
  friend class DatasetWriter;
  friend struct RuntimeAccess;
  using Bytes = std::span<const std::byte>;
  struct TypedField {
    std::string_view field;
    ElementType type;
  };
  template <ElementRange R>
  static TypedField typed_field(std::string_view field) {
    return {field, *element_type_of<std::ranges::range_value_t<R>>()};
  }
  explicit StepWriter(std::shared_ptr<write::StepWriterCore> core) noexcept
      : core_(std::move(core)) {}
  Status put_part(const TypedField& element,
                  Part part,
                  const Shape& shape,
                  Bytes data,
                  const MemoryLayout& layout);
  Status put_block(const TypedField& element,
                   const Subarray& block,
                   Bytes data,
                   const MemoryLayout& layout);
  Status adopt_part(const TypedField& element,
                    Part part,
                    const Shape& shape,
                    AdoptedBuffer&& data,
                    const MemoryLayout& layout);
  Status adopt_block(const TypedField& element,
                     const Subarray& block,
                     AdoptedBuffer&& data,
                     const MemoryLayout& layout);

  std::shared_ptr<write::StepWriterCore> core_;  // null: moved from, committed or aborted
};

/// What this rank did for a dataset and how much memory it used. WritePlan has the limits.
struct DatasetReport {
  std::uint64_t steps_published = 0;  ///< since the dataset was opened
  std::uint64_t steps_failed = 0;     ///< including aborted steps
  std::uint64_t bytes = 0;            ///< that this rank has put
  std::uint64_t written_bytes = 0;    ///< written by this rank, also for others, including padding
  /// Peak staging memory. The peaks of own bytes and of bytes received from other ranks, added.
  std::uint64_t staging_bytes_max = 0;
};

/// A dataset that this program writes: a small handle, copyable, usable from any thread. Steps of
/// one dataset are published in the order of their numbers. Two datasets never wait for each other.
/// Runtime::create_dataset() makes one.
class FOREBAY_EXPORT DatasetWriter {
 public:
  const std::string& path() const noexcept;
  /// The complete plan at opening; `reason` explains it. A Receipt has the plan of its step.
  const WritePlan& plan() const noexcept;
  /// The newest step that existed at opening or was published since. No value if there are no
  /// steps.
  std::optional<std::uint64_t> newest_step() const;

  /// Begins a step whose number is larger than all before. All ranks begin the same steps in the
  /// same order; the call does not wait for other ranks. It blocks while plan().steps_in_flight
  /// steps are not resolved: at most the step timeout plus one minute, or plus the step timeout if
  /// that is less. Then it fails with kLimit, and the step has failed on all ranks, which continue
  /// with the next number.
  ///
  /// Fails with kInvalidArgument if the number is not larger, or while another StepWriter of this
  /// rank is not committed. Fails with kClosed after close().
  Result<StepWriter> begin_step(std::uint64_t number);

  /// Sets an attribute of the dataset, such as its title, as StepWriter::set_attribute() does. Each
  /// step that this rank commits afterwards stores it. Readers take the attributes of the newest
  /// step, so a program that appends sets them again. After an Error, steps can be committed.
  /// Fails with kClosed after close().
  Status set_attribute(std::string_view name, const AttributeValue& value);

  DatasetReport report() const;

  /// Waits until all steps that this rank has committed are resolved, at most as long as
  /// begin_step(); then fails with kLimit. Returns the first Error of any step since opening; its
  /// cause has the number of failed steps if there are several. Without such, on the first rank,
  /// the Error of writing a tuning profile. An aborted step is no failure,
  /// unless a put() in it has failed. An open StepWriter may still be committed. Further calls do
  /// the same. So does the end of the Runtime, which also aborts an open StepWriter. Not
  /// collective: agents continue to serve other ranks.
  Status close() const;

 private:
  friend class Runtime;
  friend struct RuntimeAccess;
  explicit DatasetWriter(std::shared_ptr<write::DatasetWriterCore> core) : core_(std::move(core)) {}
  std::shared_ptr<write::DatasetWriterCore> core_;
};

}  // namespace forebay
