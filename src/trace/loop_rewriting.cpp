// SPDX-License-Identifier: Apache-2.0
#include "trace/loop_rewriting.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace forebay::trace {

namespace {

/// Arithmetic modulo 2^64: results that do not fit are refused by check_signature().
std::int64_t wrapping_sum(std::int64_t a, std::int64_t b, std::int64_t scale = 1) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                   static_cast<std::uint64_t>(b) *
                                       static_cast<std::uint64_t>(scale));
}

enum class NumberKind : std::uint8_t { kOffset, kSize, kCount };

/// Calls visit(number, kind) for all numbers of `items`, in order.
template <class Items, class Visit>
void for_each_number(Items& items, const Visit& visit) {
  for (auto& item : items) {
    if (auto* const access = std::get_if<AccessItem>(&item)) {
      visit(access->offset, NumberKind::kOffset);
      visit(access->size, NumberKind::kSize);
    } else if (auto* const loop = std::get_if<LoopItem>(&item)) {
      visit(loop->count, NumberKind::kCount);
      for_each_number(loop->items, visit);
    }
  }
}

bool is_constant(const AffineNumber& number) {
  return std::ranges::all_of(number.factors, [](std::int64_t factor) { return factor == 0; });
}

std::size_t levels_of(std::span<const Item> items) {
  std::size_t levels = 0;
  for (const Item& item : items)
    if (const auto* const loop = std::get_if<LoopItem>(&item))
      levels = std::max(levels, 1 + levels_of(loop->items));
  return levels;
}

bool has_equal_form(const Item& a, const Item& b) {
  if (a.index() != b.index()) return false;
  if (const auto* const access = std::get_if<AccessItem>(&a)) {
    const auto& other = std::get<AccessItem>(b);
    return access->offset.factors == other.offset.factors &&
           access->size.factors == other.size.factors;
  }
  const auto* const loop = std::get_if<LoopItem>(&a);
  if (loop == nullptr) return a == b;
  const auto& other = std::get<LoopItem>(b);
  return loop->count.factors == other.count.factors &&
         std::ranges::equal(loop->items, other.items, has_equal_form);
}

/// Differences between the numbers of two sequences of equal length; no value if their loops, lists
/// or factors differ.
std::optional<std::vector<std::int64_t>> steps_between(std::span<const Item> first,
                                                       std::span<const Item> second) {
  if (!std::ranges::equal(first, second, has_equal_form)) return std::nullopt;
  std::vector<std::int64_t> steps;
  for_each_number(first, [&steps](const AffineNumber& number, NumberKind) {
    steps.push_back(number.constant);
  });
  auto step = steps.begin();
  for_each_number(second, [&step](const AffineNumber& number, NumberKind) {
    *step = wrapping_sum(number.constant, *step, -1);
    ++step;
  });
  return steps;
}

/// Whether two such sequences are enough for a loop: only offsets differ, and all of them by the
/// same number if nothing else is evidence: equal counts and inner steps of a loop are.
bool is_evident(std::span<const Item> items, std::span<const std::int64_t> steps) {
  const bool has_loop = levels_of(items) > 0;
  std::optional<std::int64_t> distance;
  bool is_evident = true;
  auto step = steps.begin();
  for_each_number(items, [&](const AffineNumber&, NumberKind kind) {
    if (kind == NumberKind::kOffset && (has_loop || !distance)) distance = *step;
    if (*step != (kind == NumberKind::kOffset ? *distance : 0)) is_evident = false;
    ++step;
  });
  return is_evident;
}

/// A loop inside `depth` loops whose first repetition is `items`.
LoopItem loop_of(std::vector<Item> items, std::span<const std::int64_t> steps, std::size_t depth) {
  auto step = steps.begin();
  for_each_number(items, [&](AffineNumber& number, NumberKind) {
    auto& factors = number.factors;
    std::shift_right(factors.begin() + static_cast<std::ptrdiff_t>(depth), factors.end(), 1);
    factors[depth] = *step++;
  });
  return {.count = {}, .items = std::move(items)};
}

void append_unrolled(std::vector<Item>& into, Item item, std::size_t depth) {
  constexpr std::int64_t kUnrolledCountMax = 2;
  const auto* const loop = std::get_if<LoopItem>(&item);
  if (loop == nullptr || !is_constant(loop->count) || loop->count.constant > kUnrolledCountMax) {
    into.push_back(std::move(item));
    return;
  }
  for (std::int64_t index = 0; index < loop->count.constant; ++index)
    std::ranges::move(unroll(*loop, depth, {.constant = index}), std::back_inserter(into));
}

/// Repetition 0 becomes what repetition -1 was.
void add_repetition_before(LoopItem& loop, std::size_t depth) {
  ++loop.count.constant;
  for_each_number(loop.items, [depth](AffineNumber& number, NumberKind) {
    number.constant = wrapping_sum(number.constant, number.factors[depth], -1);
  });
}

/// Takes items before the loop at `at` into it. Returns its new position.
std::size_t extend_backward(std::vector<Item>& items, std::size_t at, std::size_t depth) {
  for (;;) {
    auto& loop = std::get<LoopItem>(items[at]);
    const std::vector<Item> before = unroll(loop, depth, {.constant = -1});
    if (before.empty() || before.size() > at) return at;
    const auto loop_at = items.begin() + static_cast<std::ptrdiff_t>(at);
    const auto first = loop_at - static_cast<std::ptrdiff_t>(before.size());
    if (!std::equal(first, loop_at, before.begin())) return at;
    add_repetition_before(loop, depth);
    items.erase(first, loop_at);
    at -= before.size();
  }
}

/// Takes items behind the loop at `at` into it.
void extend_forward(std::vector<Item>& items, std::size_t at, std::size_t depth) {
  for (;;) {
    auto& loop = std::get<LoopItem>(items[at]);
    const std::vector<Item> behind = unroll(loop, depth, loop.count);
    if (behind.empty() || behind.size() >= items.size() - at) return;
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    const auto last = first + static_cast<std::ptrdiff_t>(behind.size());
    if (!std::equal(first, last, behind.begin())) return;
    ++loop.count.constant;
    items.erase(first, last);
  }
}

void extend_loops(std::vector<Item>& items, std::size_t depth) {
  for (std::size_t at = 0; at < items.size(); ++at) {
    if (!std::holds_alternative<LoopItem>(items[at])) continue;
    at = extend_backward(items, at, depth);
    extend_forward(items, at, depth);
  }
}

/// Consecutive sequences of items that can become a loop.
struct Repeats {
  std::size_t body_items = 0;
  std::size_t count = 0;
  std::vector<std::int64_t> steps;  ///< of the numbers, from one to the next
  std::size_t saved_items = 0;
};

enum class Search : std::uint8_t {
  kFewerItems,
  kPairs,  ///< also two accesses of the same size, which become as many items
};

/// Length of the shortest body to try. At the top any two accesses are a translation, and
/// LoopRecognizer has found three: only bodies with a loop or list count as evidence.
std::size_t shortest_body(std::span<const Item> items, std::size_t depth) {
  if (depth > 0) return 1;
  const auto is_access = [](const Item& item) { return std::holds_alternative<AccessItem>(item); };
  const auto candidates = items.first(std::min(items.size(), kSearchedBodyItemsMax));
  const auto found = std::ranges::find_if_not(candidates, is_access);
  return static_cast<std::size_t>(found - candidates.begin()) + 1;
}

/// Sequences of `body_items` items from the begin of `items` on.
Repeats repeats_at(std::span<const Item> items, std::size_t body_items, std::size_t depth) {
  Repeats repeats{.body_items = body_items, .count = 1};
  const std::span<const Item> body = items.first(body_items);
  if (depth + levels_of(body) >= kLoopDepthMax) return {};
  for (; items.size() >= 2 * body_items; items = items.subspan(body_items), ++repeats.count) {
    auto steps = steps_between(items.first(body_items), items.subspan(body_items, body_items));
    if (!steps || (repeats.count > 1 && *steps != repeats.steps)) break;
    repeats.steps = std::move(*steps);
  }
  if (repeats.count < 2) return {};
  if (repeats.count == 2 && !is_evident(body, repeats.steps)) return {};
  repeats.saved_items = (repeats.count - 1) * item_count(body) - 1;
  return repeats;
}

Repeats best_repeats_at(std::span<const Item> items, std::size_t depth, Search search) {
  Repeats best;
  const std::size_t body_items_max = std::min(kSearchedBodyItemsMax, items.size() / 2);
  for (std::size_t b = shortest_body(items, depth); b <= body_items_max; ++b) {
    if (!has_equal_form(items[0], items[b])) continue;
    Repeats repeats = repeats_at(items, b, depth);
    const bool is_pair = search == Search::kPairs && repeats.count == 2 && best.count == 0;
    if (repeats.saved_items > best.saved_items || is_pair) best = std::move(repeats);
  }
  return best;
}

/// Returns true if a loop was created.
bool create_loops(std::vector<Item>& items, std::size_t depth, Search search) {
  bool has_changed = false;
  for (std::size_t at = 0; at + 1 < items.size(); ++at) {
    Repeats repeats = best_repeats_at(std::span(items).subspan(at), depth, search);
    if (repeats.count == 0) continue;
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(at);
    const auto body_end = first + static_cast<std::ptrdiff_t>(repeats.body_items);
    LoopItem loop = loop_of({first, body_end}, repeats.steps, depth);
    loop.count.constant = static_cast<std::int64_t>(repeats.count);
    items.erase(first + 1, first + static_cast<std::ptrdiff_t>(repeats.body_items * repeats.count));
    items[at] = std::move(loop);
    has_changed = true;
  }
  return has_changed;
}

}  // namespace

std::size_t item_count(std::span<const Item> items) {
  std::size_t count = items.size();
  for (const Item& item : items)
    if (const auto* const loop = std::get_if<LoopItem>(&item)) count += item_count(loop->items);
  return count;
}

std::vector<Item> unroll(const LoopItem& loop, std::size_t depth, const AffineNumber& index) {
  std::vector<Item> body = loop.items;
  bool has_negative_count = false;
  for_each_number(body, [&](AffineNumber& number, NumberKind kind) {
    auto& factors = number.factors;
    const std::int64_t step = factors[depth];
    std::shift_left(factors.begin() + static_cast<std::ptrdiff_t>(depth), factors.end(), 1);
    factors.back() = 0;
    number.constant = wrapping_sum(number.constant, step, index.constant);
    for (std::size_t d = 0; d < depth; ++d)
      factors[d] = wrapping_sum(factors[d], step, index.factors[d]);
    if (kind == NumberKind::kCount && number.constant < 0) has_negative_count = true;
  });
  std::vector<Item> unrolled;
  if (has_negative_count) return unrolled;
  for (Item& item : body)
    append_unrolled(unrolled, std::move(item), depth);
  return unrolled;
}

void rewrite_loops(std::vector<Item>& items, std::size_t depth) {
  for (Item& item : items)
    if (auto* const loop = std::get_if<LoopItem>(&item)) rewrite_loops(loop->items, depth + 1);
  extend_loops(items, depth);
  const Search pairs = depth > 0 ? Search::kPairs : Search::kFewerItems;
  if (create_loops(items, depth, Search::kFewerItems) || create_loops(items, depth, pairs))
    rewrite_loops(items, depth);
}

}  // namespace forebay::trace
