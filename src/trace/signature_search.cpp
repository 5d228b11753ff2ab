// SPDX-License-Identifier: Apache-2.0
#include "trace/signature_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "trace/access_list.hpp"
#include "trace/loop_recognizer.hpp"
#include "trace/loop_rewriting.hpp"
#include "trace/signature_cursor.hpp"

namespace forebay::trace {

namespace {

/// Items that are rewritten at once: bounds the memory for accesses that no loop explains.
constexpr std::size_t kRewrittenItemsMax = 1024;

tl::unexpected<Error> search_failure(ErrorClass kind, std::string cause) {
  return failure(
      {.kind = kind, .operation = "find the signature of a stream", .cause = std::move(cause)});
}

Status check_accesses(std::span<const Access> accesses) {
  constexpr auto kEndMax = static_cast<std::uint64_t>(INT64_MAX);
  if (accesses.empty()) return search_failure(ErrorClass::kInvalidArgument, "it has no accesses");
  for (const Access& access : accesses)
    if (access.offset > kEndMax || access.size > kEndMax - access.offset)
      return search_failure(ErrorClass::kLimit, "the access of " + std::to_string(access.size) +
                                                    " bytes at " + std::to_string(access.offset) +
                                                    " ends beyond 2^63 - 1");
  return {};
}

bool has_equal_accesses(const Signature& a, const Signature& b) {
  SignatureCursor first(std::make_shared<const Signature>(a));
  SignatureCursor second(std::make_shared<const Signature>(b));
  for (; !first.is_done() && !second.is_done(); first.advance(), second.advance())
    if (first.current() != second.current()) return false;
  return first.is_done() && second.is_done();
}

/// Fewer items with the same accesses, or the same items.
std::vector<Item> rewritten(std::vector<Item> items) {
  Signature shorter{.items = items};
  rewrite_loops(shorter.items);
  if (!check_signature(shorter) || !has_equal_accesses(shorter, {.items = items})) return items;
  return std::move(shorter.items);
}

std::vector<Item> items_of(std::span<const Access> accesses) {
  LoopRecognizer recognizer(kSearchedBodyItemsMax);
  std::vector<Item> items;
  const auto take_oldest = [&] {
    std::vector<Item> oldest = rewritten(recognizer.take_oldest(kRewrittenItemsMax));
    list_accesses(oldest);
    std::ranges::move(oldest, std::back_inserter(items));
  };
  for (const Access& access : accesses) {
    recognizer.observe(access.offset, access.size);
    if (recognizer.size() == 2 * kRewrittenItemsMax) take_oldest();
  }
  while (recognizer.size() > 0)
    take_oldest();
  return items;
}

/// Lists more accesses, until the items are few enough.
void limit_items(std::vector<Item>& items) {
  for (std::uint64_t least = 16; item_count(items) > kItemsMax && least < UINT64_MAX / 4;
       least *= 4)
    list_small_loops(items, least);
}

void set_interval(std::vector<Item>& items, const AffineNumber& interval_ns) {
  for (Item& item : items) {
    if (auto* const access = std::get_if<AccessItem>(&item)) access->interval_ns = interval_ns;
    if (auto* const loop = std::get_if<LoopItem>(&item)) set_interval(loop->items, interval_ns);
  }
}

/// The mean interval, if each is within 10 % of it; 0 otherwise.
std::int64_t regular_interval_ns(std::span<const Access> accesses) {
  if (accesses.size() < 2) return 0;
  const auto intervals = static_cast<double>(accesses.size() - 1);
  const double mean = (static_cast<double>(accesses.back().begin_ns) -
                       static_cast<double>(accesses.front().begin_ns)) /
                      intervals;
  for (std::size_t at = 1; at < accesses.size(); ++at) {
    const double interval =
        static_cast<double>(accesses[at].begin_ns) - static_cast<double>(accesses[at - 1].begin_ns);
    if (std::abs(interval - mean) > 0.1 * mean) return 0;
  }
  return std::llround(mean);
}

}  // namespace

Result<Signature> signature_of(std::span<const Access> accesses, Operation operation) {
  if (Status status = check_accesses(accesses); !status) return failure(status.error());
  std::vector<Item> items = items_of(accesses);
  list_accesses(items);
  repeat_lists(items);
  limit_items(items);
  Signature signature{.operation = operation, .items = rewritten(std::move(items))};
  if (const std::int64_t interval_ns = regular_interval_ns(accesses); interval_ns > 0)
    set_interval(signature.items, {.constant = interval_ns});
  if (const Status status = check_signature(signature); !status)
    return search_failure(ErrorClass::kLimit, status.error().cause());
  return signature;
}

double explained_share(const Signature& signature) {
  const std::optional<std::uint64_t> all = access_count(signature);
  if (!all) return 1;
  if (*all == 0) return 0;
  std::uint64_t listed = 0;
  for (const Item& item : signature.items) {
    if (std::holds_alternative<AccessItem>(item)) ++listed;
    if (const auto* const list = std::get_if<ListItem>(&item)) listed += list->accesses.size();
  }
  return 1 - static_cast<double>(listed) / static_cast<double>(*all);
}

}  // namespace forebay::trace
