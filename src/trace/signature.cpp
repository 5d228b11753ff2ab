// SPDX-License-Identifier: Apache-2.0
// Number of accesses of a signature. Loops multiply; those around a loop whose count depends on
// them are enumerated.
#include "trace/signature.hpp"

#include <algorithm>
#include <variant>

namespace forebay::trace {

namespace {

/// True if the count of a loop in `items` depends on the loop at this depth.
bool has_count_that_depends_on(std::size_t depth, const std::vector<Item>& items) {
  return std::ranges::any_of(items, [depth](const Item& item) {
    const auto* const loop = std::get_if<LoopItem>(&item);
    return loop != nullptr &&
           (loop->count.factors[depth] != 0 || has_count_that_depends_on(depth, loop->items));
  });
}

class AccessCounter {
 public:
  explicit AccessCounter(std::uint64_t repetitions_max) : repetitions_left_(repetitions_max) {}

  /// `items` are inside `depth` loops. Stops early if has_exceeded().
  std::uint64_t count(const std::vector<Item>& items, std::size_t depth) {
    std::uint64_t sum = 0;
    for (const Item& item : items) {
      if (const auto* const loop = std::get_if<LoopItem>(&item)) {
        sum += count_loop(*loop, depth);
      } else {
        const auto* const list = std::get_if<ListItem>(&item);
        sum += list == nullptr ? 1 : list->accesses.size();
      }
    }
    return sum;
  }
  bool has_exceeded() const noexcept { return has_exceeded_; }

 private:
  std::uint64_t count_loop(const LoopItem& loop, std::size_t depth) {
    const std::int64_t repetitions = loop.count.at(indexes_);
    if (repetitions <= 0 || has_exceeded_) return 0;
    if (!has_count_that_depends_on(depth, loop.items))
      return static_cast<std::uint64_t>(repetitions) * count(loop.items, depth + 1);
    std::uint64_t sum = 0;
    std::int64_t& index = indexes_[depth];
    for (index = 0; index < repetitions && take_repetition(); ++index)
      sum += count(loop.items, depth + 1);
    index = 0;
    return sum;
  }

  bool take_repetition() {
    if (repetitions_left_ == 0) has_exceeded_ = true;
    if (!has_exceeded_) --repetitions_left_;
    return !has_exceeded_;
  }

  LoopIndexes indexes_ = {};
  std::uint64_t repetitions_left_;
  bool has_exceeded_ = false;
};

}  // namespace

std::optional<std::uint64_t> access_count(const Signature& signature,
                                          std::uint64_t repetitions_max) {
  AccessCounter counter(repetitions_max);
  const std::uint64_t count = counter.count(signature.items, 0);
  if (counter.has_exceeded()) return std::nullopt;
  return count;
}

}  // namespace forebay::trace
