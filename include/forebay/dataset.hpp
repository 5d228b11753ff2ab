// SPDX-License-Identifier: Apache-2.0
// Datasets as a program writes them: steps that become visible whole or not at all, while the
// program computes on. A step is put together from blocks (parts of a field, or pieces of a global
// array); agents bring them to storage in the way that a WritePlan says, and no rank waits for
// another one after Runtime::dataset(). Reading is in <forebay/stored_dataset.hpp>.
#pragma once

#include <forebay/buffer.hpp>
#include <forebay/element_type.hpp>
#include <forebay/error.hpp>
#include <forebay/future.hpp>
#include <forebay/part.hpp>
#include <forebay/range.hpp>
#include <forebay/write_plan.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forebay {

namespace write {
class DatasetCore;
class StepCore;
}  // namespace write

/// How safe a step is that a Receipt is given for: kDurable, always. Receipts of other levels are
/// given to nobody who does not ask for them, and there is no way to ask yet.
enum class SafetyLevel : std::uint8_t {
  kLocal,    ///< in memory of agents, lost with the node: not given yet
  kDurable,  ///< synced to storage and published: there after a power cut
};

/// What became of a step that was committed.
struct Receipt {
  std::uint64_t step = 0;
  SafetyLevel level = SafetyLevel::kLocal;  ///< kDurable in all that commit() gives
  /// This rank's application was held up so long, in begin_step(), put() and commit() together.
  std::chrono::nanoseconds perceived{};
  /// From begin_step() until all of the step, of all ranks, was durable.
  std::chrono::nanoseconds durable{};
  std::uint64_t bytes = 0;          ///< of this rank's blocks
  std::uint64_t copied_bytes = 0;   ///< of these, copied into staging memory by put()
  std::uint64_t adopted_bytes = 0;  ///< of these, written from where they were
};

/// One step under way on one rank. Move-only; belongs to one thread at a time. One that is
/// destroyed without commit() is abandoned.
class [[nodiscard]] Step {
 public:
  Step(Step&& other) noexcept = default;
  Step& operator=(Step&& other) noexcept;
  ~Step();

  std::uint64_t number() const noexcept;

  /// Adds a part of a field. The bytes are copied before it returns; `shape` has as many elements
  /// as `data` (left out: one dimension). A field has the same element type and number of
  /// dimensions in all its parts, on all ranks; a part is put once in a step, by whichever rank. An
  /// empty part is one. Not collective. Blocks while staging memory is used up, for at most the
  /// plan's deadline, and not at all for WhenFull::kFail; then fails with kLimit. After an Error
  /// the step cannot be committed: commit() returns the same Error.
  template <class T>
    requires(element_type_of<T>().has_value())
  Status put(std::string_view field, Part part, std::span<T> data, const Shape& shape = {}) {
    return put_part({field, *element_type_of<T>()}, part, shape, std::as_bytes(data));
  }
  /// Adds a block of a global array, block.shape of which is the same on all ranks. Blocks of one
  /// array do not overlap: those that do fail the step. What no rank puts is not there. C order;
  /// element_bytes and array_offset are not looked at.
  template <class T>
    requires(element_type_of<T>().has_value())
  Status put(std::string_view field, const Subarray& block, std::span<T> data) {
    return put_block({field, *element_type_of<T>()}, block, std::as_bytes(data));
  }
  /// The same without a copy: storage is written from the buffer, which goes back to the Runtime
  /// afterwards. `put<double>("velocity", part, adopt(std::move(buffer)), shape)`. Where bytes are
  /// compressed they are copied all the same; the Receipt says so.
  template <class T>
    requires(element_type_of<T>().has_value())
  Status put(std::string_view field, Part part, AdoptedBuffer data, const Shape& shape = {}) {
    return adopt_part({field, *element_type_of<T>()}, part, shape, std::move(data));
  }
  template <class T>
    requires(element_type_of<T>().has_value())
  Status put(std::string_view field, const Subarray& block, AdoptedBuffer data) {
    return adopt_block({field, *element_type_of<T>()}, block, std::move(data));
  }

  /// This rank has put all it has. Returns at once; the step is under way, and this handle empty.
  /// The Future is there when all ranks' bytes are durable and the step is published, or when it is
  /// known that this will not be: then its Error says which rank failed and why, the steps before
  /// are as they were, and later ones can go on. kClosed for a lost first rank, or a Runtime that
  /// ended first, leaves open whether the step is there. Dropping the Future changes nothing.
  Future<Receipt> commit();

  /// Gives the step up on all ranks: nothing of it will be seen.
  void abandon() noexcept;

 private:
  friend class Dataset;
  using Bytes = std::span<const std::byte>;
  struct Element {
    std::string_view field;
    ElementType type;
  };
  explicit Step(std::shared_ptr<write::StepCore> core) noexcept : core_(std::move(core)) {}
  Status put_part(const Element& element, Part part, const Shape& shape, Bytes data);
  Status put_block(const Element& element, const Subarray& block, Bytes data);
  Status adopt_part(const Element& element, Part part, const Shape& shape, AdoptedBuffer data);
  Status adopt_block(const Element& element, const Subarray& block, AdoptedBuffer data);

  std::shared_ptr<write::StepCore> core_;  // null: moved from, committed or abandoned
};

/// What one rank's part of a dataset did and holds; see WritePlan for the limits.
struct DatasetReport {
  std::uint64_t steps_published = 0;  ///< since it was opened
  std::uint64_t steps_failed = 0;
  std::uint64_t bytes = 0;          ///< of this rank's blocks
  std::uint64_t written_bytes = 0;  ///< by this rank, also for others, padding included
  /// Most staging memory in use at a time, and of that for what comes from others: the most of
  /// each, added.
  std::uint64_t staging_bytes_max = 0;
};

/// A dataset that this program writes: a small handle, copyable, for any thread. Steps of one
/// dataset are published in the order of their numbers; two datasets never wait for each other.
/// Made by Runtime::dataset().
class Dataset {
 public:
  const std::string& path() const noexcept;
  /// What is in force, complete; `reason` says why.
  const WritePlan& plan() const noexcept;
  /// The newest step that was there when it was opened, or has been published since; none: empty.
  std::optional<std::uint64_t> newest_step() const;

  /// Begins a step, whose number is larger than any before. All ranks begin the same steps in the
  /// same order; nobody waits for the others here. Blocks while plan().steps_in_flight steps are
  /// not resolved, a minute longer than the plan's deadline at most: kLimit then, and the step has
  /// failed on all ranks, which go on with the next number. kInvalidArgument for
  /// a number that does not rise, and while another Step of this rank is not committed; kClosed
  /// after close().
  Result<Step> begin_step(std::uint64_t number);

  DatasetReport report() const;

  /// Waits until all steps that this rank has committed are resolved, at most a minute longer than
  /// the plan's deadline; the first Error of any step since it was opened, and how many steps
  /// failed; an abandoned step is no failure. A Step that is open may
  /// still be committed. Further calls do the same, and a Runtime that ends, which gives up a Step
  /// that is open. Not collective: agents go on for other ranks.
  Status close() const;

 private:
  friend class Runtime;
  explicit Dataset(std::shared_ptr<write::DatasetCore> core) : core_(std::move(core)) {}
  std::shared_ptr<write::DatasetCore> core_;
};

}  // namespace forebay
