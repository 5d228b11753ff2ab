// SPDX-License-Identifier: Apache-2.0
// The solver's interface to storage: named arrays of parts, step by step. It is narrow, so that any
// storage can implement it: memory, a directory of files, a Forebay dataset.
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

#include "flow/solver_comm.hpp"

namespace forebay::flow {

enum class ScalarType : std::uint32_t { kU32 = 1, kU64 = 2, kF64 = 3 };

constexpr std::size_t size_of(ScalarType kind) { return kind == ScalarType::kU32 ? 4 : 8; }

template <class Value>
constexpr ScalarType scalar_type() {
  static_assert(std::is_same_v<Value, std::uint32_t> || std::is_same_v<Value, std::uint64_t> ||
                std::is_same_v<Value, double>);
  if constexpr (std::is_same_v<Value, double>) return ScalarType::kF64;
  return sizeof(Value) == 4 ? ScalarType::kU32 : ScalarType::kU64;
}

/// An array of a part.
struct ArrayName {
  std::string name;
  std::uint32_t part = 0;
  friend auto operator<=>(const ArrayName&, const ArrayName&) = default;
};

/// Shape of its values: rows of `width` elements.
struct ArrayShape {
  ScalarType type = ScalarType::kF64;
  std::uint32_t width = 1;
  std::uint64_t rows = 0;
  std::uint64_t size_bytes() const { return rows * width * size_of(type); }
  friend bool operator==(const ArrayShape&, const ArrayShape&) = default;
};

struct StoredArray {
  ArrayShape shape;
  std::vector<std::byte> bytes;
};

/// A step that one rank writes.
class PartStepWriter {
 public:
  PartStepWriter() = default;
  PartStepWriter(const PartStepWriter&) = delete;
  PartStepWriter& operator=(const PartStepWriter&) = delete;
  virtual ~PartStepWriter() = default;  ///< without commit(), the step is not written

  /// Copies the bytes, or writes them before it returns. Any rank may put arrays of any part, each
  /// once.
  virtual Status put(const ArrayName& name,
                     const ArrayShape& shape,
                     std::span<const std::byte> bytes) = 0;
  /// Collective, once. Makes the arrays of all ranks visible as this step, now or later
  /// (PartStore::wait()), or none of them.
  virtual Status commit() = 0;

  template <class Value>
  Status put_values(const ArrayName& name, std::span<const Value> values, std::uint32_t width = 1) {
    return put(name, {scalar_type<Value>(), width, values.size() / width}, std::as_bytes(values));
  }
};

/// A complete step that one rank reads.
class PartStepReader {
 public:
  PartStepReader() = default;
  PartStepReader(const PartStepReader&) = delete;
  PartStepReader& operator=(const PartStepReader&) = delete;
  virtual ~PartStepReader() = default;

  /// kNotFound if the array does not exist, kDamage if its bytes are not those written. Not
  /// collective.
  virtual Result<StoredArray> get(const ArrayName& name) = 0;

  /// The values; kDamage if they have another type or width.
  template <class Value>
  Result<std::vector<Value>> get_values(const ArrayName& name, std::uint32_t width = 1) {
    const Result<StoredArray> array = get(name);
    if (!array) return failure(array.error());
    const ArrayShape& shape = array->shape;
    const ArrayShape wanted{scalar_type<Value>(), width, shape.rows};
    if (shape != wanted || array->bytes.size() != shape.size_bytes()) {
      return failure(shape_error(name));
    }
    std::vector<Value> values(array->bytes.size() / sizeof(Value));
    std::ranges::copy(array->bytes, std::as_writable_bytes(std::span(values)).begin());
    return values;
  }

 private:
  static Error shape_error(const ArrayName& name);
};

/// Outcome of a durable step, as measured by one rank.
struct StepReceipt {
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;  ///< of this rank's arrays
  std::chrono::steady_clock::time_point begin_time;
  std::chrono::nanoseconds perceived{};  ///< how long this rank was blocked
  std::chrono::nanoseconds durable{};    ///< from its beginning until all of it was on storage
};

/// Checks that step numbers ascend.
class StepOrder {
 public:
  /// Numbers must be above `existing`, which ascend.
  explicit StepOrder(std::span<const std::uint64_t> existing = {}) {
    if (!existing.empty()) last_ = existing.back();
  }
  Status advance(std::uint64_t step);

 private:
  std::optional<std::uint64_t> last_;
};

/// Steps by number. Collective calls must be made by all ranks of the communicator, and return the
/// same outcome on all.
class PartStore {
 public:
  PartStore() = default;
  PartStore(const PartStore&) = delete;
  PartStore& operator=(const PartStore&) = delete;
  virtual ~PartStore() = default;

  /// Collective. One step at a time. Step numbers ascend: kInvalidArgument for a number that is not
  /// above all steps that existed when the store was opened, and all that it has begun. So a
  /// complete step is never replaced, and a run resumes from the newest. A killed run's incomplete
  /// step is not visible; its number is free. This call may report the failure of an earlier step;
  /// then it begins none.
  virtual Result<std::unique_ptr<PartStepWriter>> begin_step(std::uint64_t step) = 0;
  /// Collective. kNotFound if the step does not exist.
  virtual Result<std::unique_ptr<PartStepReader>> open_step(std::uint64_t step) = 0;
  /// Collective. Complete steps, in ascending order.
  virtual Result<std::vector<std::uint64_t>> steps() = 0;
  /// Collective. Waits until all committed steps are durable. Returns the failure of the first that
  /// is not.
  virtual Status wait() = 0;
  /// Receipts of the steps that this rank has committed and that are known to be durable, in their
  /// order. Empty if the store does not measure them. Not collective.
  virtual std::vector<StepReceipt> receipts() const = 0;
  /// A short description for users. Not collective.
  virtual std::string description() const = 0;
};

enum class StoreMode : std::uint8_t { kRead, kWrite };

/// Collective. Opens the store at a path; to write, creates it if it does not exist. The
/// communicator must outlive it.
using StoreOpener =
    std::function<Result<std::unique_ptr<PartStore>>(const std::string&, StoreMode, SolverComm&)>;

}  // namespace forebay::flow
