// SPDX-License-Identifier: Apache-2.0
// LoopRecognizer: finds nested loops with affine numbers in a stream of accesses, one access at a
// time. Nested loop recognition of Ketterlin and Clauss (Prediction and Trace Compression of Data
// Access Addresses through Nested Loop Recognition, CGO'08).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/signature.hpp"

namespace forebay::trace {

/// Keeps a stack of items. Three consecutive equal sequences of items, whose numbers change by the
/// same differences, become a loop; a loop grows by a further repetition. The stack has no limit:
/// callers take_oldest(). One thread at a time.
class LoopRecognizer {
 public:
  /// `body_items_max`: longest sequence that is tried as the body of a loop.
  explicit LoopRecognizer(std::size_t body_items_max = 16) : body_items_max_(body_items_max) {}

  /// Adds an access. Intervals are ignored. Takes time for body_items_max, and for the items of a
  /// loop that is created or grows. Allocates only if a loop is created or the stack grows.
  void observe(std::uint64_t offset, std::uint64_t size);

  /// Number of items on the stack.
  std::size_t size() const noexcept { return terms_.size(); }
  /// Items that reproduce all accesses but those of take_oldest(), in order. An offset, a size or a
  /// count from 2^63 on becomes negative.
  std::vector<Item> items() const;
  /// Removes and returns the oldest `count` items, at most size().
  std::vector<Item> take_oldest(std::size_t count);

 private:
  /// A loop without the values of its numbers in the first repetition.
  struct Shape;
  /// The numbers of a term follow each other in numbers_: offset and size of an access; the count
  /// of a loop, then the numbers of its body in its first repetition.
  struct Term {
    std::shared_ptr<const Shape> shape;  ///< null: an access
    std::uint64_t hash = 0;              ///< of the shape
    std::size_t numbers_begin = 0;       ///< in numbers_
  };

  static bool is_same_shape(const Term& a, const Term& b);
  static Item item_of(const Shape* shape,
                      std::vector<AffineNumber>::iterator& number,
                      std::size_t depth);

  std::size_t numbers_begin(std::size_t term) const noexcept;
  bool grow_loop();
  bool create_loop();
  bool is_next_repetition(std::size_t loop) const;
  bool is_repeated_twice(std::size_t body_items) const;
  std::shared_ptr<const Shape> shape_of_body(std::size_t first, std::size_t body_items) const;
  std::vector<Item> first_items(std::size_t count) const;
  void remove_from(std::size_t term);

  std::size_t body_items_max_;
  std::vector<Term> terms_;
  std::vector<std::uint64_t> numbers_;  ///< computed modulo 2^64, so that nothing overflows
};

}  // namespace forebay::trace
