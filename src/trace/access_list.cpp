// SPDX-License-Identifier: Apache-2.0
#include "trace/access_list.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "trace/reuse_distances.hpp"
#include "trace/signature_cursor.hpp"

namespace forebay::trace {

namespace {

using Ranges = std::span<const ByteRange>;

/// Number of accesses; the greatest number if they are too many to be counted.
std::uint64_t count_accesses(const Item& item) {
  if (std::holds_alternative<AccessItem>(item)) return 1;
  if (const auto* const list = std::get_if<ListItem>(&item)) return list->accesses.size();
  return access_count({.items = {item}}).value_or(UINT64_MAX);
}

bool is_loop(const Item& item) { return std::holds_alternative<LoopItem>(item); }

/// Collects accesses for a list.
class ListBuilder {
 public:
  explicit ListBuilder(std::vector<Item>& into) : into_(into) {}

  void add(Item item) {
    if (auto* const list = std::get_if<ListItem>(&item)) {
      std::ranges::copy(list->accesses, std::back_inserter(list_.accesses));
      return;
    }
    auto signature = std::make_shared<Signature>();
    signature->items.push_back(std::move(item));
    for (SignatureCursor cursor(signature); !cursor.is_done(); cursor.advance())
      list_.accesses.push_back({cursor.current().offset, cursor.current().size});
  }

  /// Ends the list. One access becomes an access.
  void flush() {
    if (list_.accesses.empty()) return;
    if (const ByteRange& range = list_.accesses[0]; list_.accesses.size() == 1) {
      into_.emplace_back(AccessItem{.offset = {.constant = static_cast<std::int64_t>(range.offset)},
                                    .size = {.constant = static_cast<std::int64_t>(range.size)}});
    } else {
      into_.emplace_back(std::move(list_));
    }
    list_ = {};
  }

 private:
  std::vector<Item>& into_;
  ListItem list_;
};

/// Loops stay if they have more than this share of the accesses.
void append_listed(std::vector<Item>& into, std::span<Item> run, double share_min) {
  double all = 0;
  double in_loops = 0;
  for (const Item& item : run) {
    const auto accesses = static_cast<double>(count_accesses(item));
    all += accesses;
    if (is_loop(item)) in_loops += accesses;
  }
  const bool has_loops = in_loops > share_min * all;
  ListBuilder builder(into);
  for (Item& item : run) {
    if (!is_loop(item) || !has_loops) {
      builder.add(std::move(item));
      continue;
    }
    builder.flush();
    into.push_back(std::move(item));
  }
  builder.flush();
}

void list_runs(std::vector<Item>& items, std::uint64_t accesses_min, double share_min) {
  const auto is_listed = [accesses_min](const Item& item) {
    return !is_loop(item) || count_accesses(item) < accesses_min;
  };
  std::vector<Item> listed;
  for (auto first = items.begin(); first != items.end();) {
    const auto last = std::find_if_not(first, items.end(), is_listed);
    append_listed(listed, {first, last}, share_min);
    first = last;
    if (first != items.end()) listed.push_back(std::move(*first++));
  }
  items = std::move(listed);
}

/// Most frequent number of accesses from an access to the next equal one; the greatest of several.
std::optional<std::size_t> reuse_distance(Ranges accesses) {
  std::vector<std::size_t> distances = reuse_distances(
      accesses, [](const ByteRange& range) { return std::pair(range.offset, range.size); });
  std::ranges::sort(distances);
  std::optional<std::size_t> most_frequent;
  std::size_t uses_max = 0;
  for (auto first = distances.begin(); first != distances.end();) {
    const auto last = std::upper_bound(first, distances.end(), *first);
    const auto uses = static_cast<std::size_t>(last - first);
    if (uses >= uses_max) most_frequent = *first;
    uses_max = std::max(uses_max, uses);
    first = last;
  }
  return most_frequent;
}

/// The longest part of `accesses` in which each access equals the one `distance` behind it.
ByteRange longest_repetition(Ranges accesses, std::size_t distance) {
  ByteRange longest;
  ByteRange part;
  for (std::size_t at = 0; at + distance < accesses.size(); ++at) {
    if (accesses[at] != accesses[at + distance]) {
      part = {at + 1, 0};
    } else if (++part.size > longest.size) {
      longest = part;
    }
  }
  return longest;
}

void append_list(std::vector<Item>& into, Ranges accesses) {
  ListBuilder builder(into);
  builder.add(ListItem{{accesses.begin(), accesses.end()}});
  builder.flush();
}

void append_repeated(std::vector<Item>& into, Ranges accesses) {
  const std::size_t distance = reuse_distance(accesses).value_or(accesses.size());
  const ByteRange part = longest_repetition(accesses, distance);
  const std::size_t count = part.size / distance + 1;
  if (count < 2 || 4 * count * distance < accesses.size()) {
    append_list(into, accesses);
    return;
  }
  append_list(into, accesses.first(part.offset));
  LoopItem loop{.count = {.constant = static_cast<std::int64_t>(count)}, .items = {}};
  append_list(loop.items, accesses.subspan(part.offset, distance));
  into.emplace_back(std::move(loop));
  append_list(into, accesses.subspan(part.offset + count * distance));
}

}  // namespace

void list_accesses(std::vector<Item>& items) {
  constexpr std::uint64_t kLoopAccessesMin = 8;
  constexpr double kLoopShareMin = 0.5;
  list_runs(items, kLoopAccessesMin, kLoopShareMin);
}

void list_small_loops(std::vector<Item>& items, std::uint64_t accesses_min) {
  constexpr double kNever = 1;
  list_runs(items, accesses_min, kNever);
}

void repeat_lists(std::vector<Item>& items) {
  std::vector<Item> repeated;
  for (Item& item : items) {
    if (const auto* const list = std::get_if<ListItem>(&item))
      append_repeated(repeated, list->accesses);
    else
      repeated.push_back(std::move(item));
  }
  items = std::move(repeated);
}

}  // namespace forebay::trace
