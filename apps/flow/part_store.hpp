// SPDX-License-Identifier: Apache-2.0
// All that the solver knows of storage: named arrays of parts, step by step. Kept narrow, so that
// anything can be below: memory, a folder of files, a Forebay dataset.
#pragma once

#include <forebay/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "flow/team.hpp"

namespace forebay::flow {

enum class ElementKind : std::uint32_t { kU32 = 1, kU64 = 2, kF64 = 3 };

constexpr std::size_t size_of(ElementKind kind) { return kind == ElementKind::kU32 ? 4 : 8; }

template <class Value>
constexpr ElementKind kind_of() {
  static_assert(std::is_same_v<Value, std::uint32_t> || std::is_same_v<Value, std::uint64_t> ||
                std::is_same_v<Value, double>);
  if constexpr (std::is_same_v<Value, double>) return ElementKind::kF64;
  return sizeof(Value) == 4 ? ElementKind::kU32 : ElementKind::kU64;
}

/// An array of a part.
struct ArrayName {
  std::string name;
  std::uint32_t part = 0;
  friend auto operator<=>(const ArrayName&, const ArrayName&) = default;
};

/// What its values are: rows of `width` elements.
struct ArrayShape {
  ElementKind kind = ElementKind::kF64;
  std::uint32_t width = 1;
  std::uint64_t rows = 0;
  std::uint64_t size_bytes() const { return rows * width * size_of(kind); }
  friend bool operator==(const ArrayShape&, const ArrayShape&) = default;
};

struct StoredArray {
  ArrayShape shape;
  std::vector<std::byte> bytes;
};

/// A step that is being written, by one rank.
class StepWriter {
 public:
  StepWriter() = default;
  StepWriter(const StepWriter&) = delete;
  StepWriter& operator=(const StepWriter&) = delete;
  virtual ~StepWriter() = default;  ///< without commit(), the step is not written

  /// Takes a copy, or has written them when it comes back. Any rank may put arrays of any part,
  /// each once.
  virtual Status put(const ArrayName& name,
                     const ArrayShape& shape,
                     std::span<const std::byte> bytes) = 0;
  /// Collective, once: all that was put by all ranks becomes visible as this step, now or later
  /// (PartStore::wait()), or nothing of it.
  virtual Status commit() = 0;

  template <class Value>
  Status put_values(const ArrayName& name, std::span<const Value> values, std::uint32_t width = 1) {
    return put(name, {kind_of<Value>(), width, values.size() / width}, std::as_bytes(values));
  }
};

/// A step that is there, read by one rank.
class StepReader {
 public:
  StepReader() = default;
  StepReader(const StepReader&) = delete;
  StepReader& operator=(const StepReader&) = delete;
  virtual ~StepReader() = default;

  /// kNotFound if there is no such array, kDamage if it is not what was written. Not collective.
  virtual Result<StoredArray> get(const ArrayName& name) = 0;

  /// The values; kDamage if they are of another kind or width.
  template <class Value>
  Result<std::vector<Value>> get_values(const ArrayName& name, std::uint32_t width = 1) {
    const Result<StoredArray> array = get(name);
    if (!array) return failure(array.error());
    const ArrayShape& shape = array->shape;
    const ArrayShape wanted{kind_of<Value>(), width, shape.rows};
    if (shape != wanted || array->bytes.size() != shape.size_bytes()) {
      return failure(other_shape(name));
    }
    std::vector<Value> values(array->bytes.size() / sizeof(Value));
    std::ranges::copy(array->bytes, std::as_writable_bytes(std::span(values)).begin());
    return values;
  }

 private:
  static Error other_shape(const ArrayName& name);
};

/// What became of a step that was committed, as one rank saw it.
struct StepReceipt {
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;  ///< of this rank's arrays
  std::chrono::steady_clock::time_point begun;
  std::chrono::nanoseconds perceived{};  ///< this rank was held up so long
  std::chrono::nanoseconds durable{};    ///< from its beginning until all of it was on storage
};

/// Holds a store to rising numbers.
class RisingSteps {
 public:
  /// Above those that are there.
  explicit RisingSteps(std::span<const std::uint64_t> there = {}) {
    if (!there.empty()) last_ = there.back();
  }
  Status begin(std::uint64_t step);

 private:
  std::optional<std::uint64_t> last_;
};

/// Steps by number. Collective calls are made by all ranks of a team, and end alike on all.
class PartStore {
 public:
  PartStore() = default;
  PartStore(const PartStore&) = delete;
  PartStore& operator=(const PartStore&) = delete;
  virtual ~PartStore() = default;

  /// Collective. One step at a time. Numbers rise: kInvalidArgument for one that is not above all
  /// that were there when the store was opened, and all that it has begun. So nothing that is whole
  /// is ever replaced: who resumes goes on from the newest step. What a run that was killed had not
  /// made whole is not there; its number is free. An earlier step that could not be kept may be
  /// told by this one, which is not begun then.
  virtual Result<std::unique_ptr<StepWriter>> begin_step(std::uint64_t step) = 0;
  /// Collective. kNotFound if there is no such step.
  virtual Result<std::unique_ptr<StepReader>> open_step(std::uint64_t step) = 0;
  /// Collective. Steps that are whole, in rising order.
  virtual Result<std::vector<std::uint64_t>> steps() = 0;
  /// Collective. Comes back when all steps that were committed are durable; the failure of the
  /// first that is not.
  virtual Status wait() = 0;
  /// Of steps that this rank has committed, those that are known to be durable, in their order;
  /// empty where the store cannot tell. Not collective.
  virtual std::vector<StepReceipt> receipts() const = 0;
  /// What it is, in a few words for people. Not collective.
  virtual std::string description() const = 0;
};

enum class StoreUse : std::uint8_t { kRead, kWrite };

/// Collective. Opens the store at a path; for writing it is made if it is not there. The team must
/// outlive it.
using StoreOpener =
    std::function<Result<std::unique_ptr<PartStore>>(const std::string&, StoreUse, Team&)>;

}  // namespace forebay::flow
