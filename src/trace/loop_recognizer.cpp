// SPDX-License-Identifier: Apache-2.0
// A term is a shape and a sequence of numbers. A shape holds the steps of the numbers of a body
// from repetition to repetition, one level of loops at a time. So a new loop around terms leaves
// them as they are; items() computes the factors of the variables.
#include "trace/loop_recognizer.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace forebay::trace {

struct LoopRecognizer::Shape {
  std::vector<Term> body;            ///< numbers_begin is not used
  std::vector<std::uint64_t> steps;  ///< of the numbers of the body
  std::size_t depth = 1;             ///< levels of loops, with this one

  bool operator==(const Shape& other) const {
    return depth == other.depth && steps == other.steps &&
           std::ranges::equal(body, other.body, is_same_shape);
  }
  std::uint64_t hash() const noexcept {
    std::uint64_t hash = body.size();
    const auto mix = [&hash](std::uint64_t value) {
      // The finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA'14).
      hash = (hash ^ value) + 0x9E3779B97F4A7C15U;
      hash = (hash ^ (hash >> 30U)) * 0xBF58476D1CE4E5B9U;
      hash = (hash ^ (hash >> 27U)) * 0x94D049BB133111EBU;
      hash ^= hash >> 31U;
    };
    for (const Term& term : body)
      mix(term.hash);
    for (const std::uint64_t step : steps)
      mix(step);
    return hash;
  }
};

bool LoopRecognizer::is_same_shape(const Term& a, const Term& b) {
  if (a.shape == b.shape) return true;
  return a.hash == b.hash && a.shape != nullptr && b.shape != nullptr && *a.shape == *b.shape;
}

void LoopRecognizer::observe(std::uint64_t offset, std::uint64_t size) {
  terms_.push_back({nullptr, 0, numbers_.size()});
  numbers_.push_back(offset);
  numbers_.push_back(size);
  while (grow_loop() || create_loop()) {
  }
}

std::size_t LoopRecognizer::numbers_begin(std::size_t term) const noexcept {
  return term < terms_.size() ? terms_[term].numbers_begin : numbers_.size();
}

/// The top terms, if they are the next repetition of the loop below them, become part of it.
bool LoopRecognizer::grow_loop() {
  for (std::size_t b = 1; b <= body_items_max_ && b < terms_.size(); ++b) {
    const std::size_t loop = terms_.size() - 1 - b;
    if (!is_next_repetition(loop)) continue;
    ++numbers_[terms_[loop].numbers_begin];
    remove_from(loop + 1);
    return true;
  }
  return false;
}

bool LoopRecognizer::is_next_repetition(std::size_t loop) const {
  const Shape* shape = terms_[loop].shape.get();
  if (shape == nullptr || shape->body.size() != terms_.size() - 1 - loop) return false;
  const std::size_t next = numbers_begin(loop + 1);
  if (numbers_.size() - next != shape->steps.size()) return false;
  const std::size_t first = numbers_begin(loop) + 1;
  const std::uint64_t count = numbers_[first - 1];
  for (std::size_t k = 0; k < shape->steps.size(); ++k)
    if (numbers_[first + k] + shape->steps[k] * count != numbers_[next + k]) return false;
  return std::ranges::equal(shape->body, std::span(terms_).subspan(loop + 1), is_same_shape);
}

/// The top terms, if they are three repetitions of the same, become a loop.
bool LoopRecognizer::create_loop() {
  for (std::size_t b = 1; b <= body_items_max_ && 3 * b <= terms_.size(); ++b) {
    if (!is_repeated_twice(b)) continue;
    const std::size_t first = terms_.size() - 3 * b;
    std::shared_ptr<const Shape> shape = shape_of_body(first, b);
    if (shape->depth > kLoopDepthMax) continue;
    remove_from(first + b);
    const std::size_t begin = numbers_begin(first);
    numbers_.insert(numbers_.begin() + static_cast<std::ptrdiff_t>(begin), 3);
    const std::uint64_t hash = shape->hash();
    terms_[first] = {std::move(shape), hash, begin};
    terms_.resize(first + 1);
    return true;
  }
  return false;
}

/// True if the top terms are a sequence of `body_items` terms and two more like it. Compares the
/// numbers first: most sequences differ in one of them.
bool LoopRecognizer::is_repeated_twice(std::size_t body_items) const {
  const std::size_t first = terms_.size() - 3 * body_items;
  const std::size_t begin = numbers_begin(first);
  const std::size_t length = numbers_begin(first + body_items) - begin;
  if (numbers_begin(first + 2 * body_items) != begin + 2 * length) return false;
  if (numbers_.size() != begin + 3 * length) return false;
  const std::uint64_t* number = &numbers_[begin];
  for (std::size_t k = 0; k < length; ++k, ++number)
    if (number[length] - number[0] != number[2 * length] - number[length]) return false;
  const auto terms = std::span(terms_).subspan(first);
  return std::ranges::equal(terms.first(2 * body_items), terms.last(2 * body_items), is_same_shape);
}

std::shared_ptr<const LoopRecognizer::Shape> LoopRecognizer::shape_of_body(
    std::size_t first, std::size_t body_items) const {
  const auto shape = std::make_shared<Shape>();
  for (const Term& term : std::span(terms_).subspan(first, body_items)) {
    shape->body.push_back({term.shape, term.hash, 0});
    if (term.shape != nullptr) shape->depth = std::max(shape->depth, 1 + term.shape->depth);
  }
  const std::size_t begin = numbers_begin(first);
  const std::size_t second = numbers_begin(first + body_items);
  for (std::size_t k = 0; k < second - begin; ++k)
    shape->steps.push_back(numbers_[second + k] - numbers_[begin + k]);
  return shape;
}

void LoopRecognizer::remove_from(std::size_t term) {
  numbers_.resize(numbers_begin(term));
  terms_.resize(term);
}

std::vector<Item> LoopRecognizer::items() const { return first_items(terms_.size()); }

std::vector<Item> LoopRecognizer::take_oldest(std::size_t count) {
  count = std::min(count, terms_.size());
  std::vector<Item> items = first_items(count);
  const std::size_t numbers = numbers_begin(count);
  numbers_.erase(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(numbers));
  terms_.erase(terms_.begin(), terms_.begin() + static_cast<std::ptrdiff_t>(count));
  for (Term& term : terms_)
    term.numbers_begin -= numbers;
  return items;
}

std::vector<Item> LoopRecognizer::first_items(std::size_t count) const {
  std::vector<AffineNumber> numbers(numbers_begin(count));
  for (std::size_t k = 0; k < numbers.size(); ++k)
    numbers[k].constant = static_cast<std::int64_t>(numbers_[k]);
  std::vector<Item> items;
  items.reserve(count);
  auto number = numbers.begin();
  for (std::size_t term = 0; term < count; ++term)
    items.push_back(item_of(terms_[term].shape.get(), number, 0));
  return items;
}

/// The item whose numbers begin at `number`, which then is after them. Its numbers have the factors
/// of the variables of loops around it.
Item LoopRecognizer::item_of(const Shape* shape,
                             std::vector<AffineNumber>::iterator& number,
                             std::size_t depth) {
  if (shape == nullptr) {
    const AffineNumber offset = *number++;
    return AccessItem{.offset = offset, .size = *number++};
  }
  LoopItem loop{.count = *number++, .items = {}};
  auto body_number = number;
  for (const std::uint64_t step : shape->steps)
    (body_number++)->factors[depth] = static_cast<std::int64_t>(step);
  for (const Term& term : shape->body)
    loop.items.push_back(item_of(term.shape.get(), number, depth + 1));
  return loop;
}

}  // namespace forebay::trace
