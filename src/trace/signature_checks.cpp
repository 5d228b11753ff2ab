// SPDX-License-Identifier: Apache-2.0
#include "trace/signature_checks.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <variant>

#include "trace/signature_bounds.hpp"

namespace forebay::trace {

namespace {

constexpr std::uint64_t kAccessesMax = std::numeric_limits<std::int64_t>::max();

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/// " at i = 3, j = 0", or nothing outside of loops.
std::string place_of(const Bound& bound, std::size_t depth) {
  std::string text;
  for (std::size_t d = 0; d < depth; ++d) {
    text += (d == 0 ? " at " : ", ") + std::string(1, kVariables[d]) + " = " +
            std::to_string(bound.indexes[d]);
  }
  if (!bound.is_reached) text += " (limits hold also where a loop has no repetition)";
  return text;
}

/// Each function returns false at the first violation.
class LimitChecker {
 public:
  bool check_items(const std::vector<Item>& items) {
    if (items.empty()) return fail("has no items");
    return std::ranges::all_of(items, [this](const Item& item) {
      if (++items_ > kItemsMax)
        return fail("a signature has at most " + std::to_string(kItemsMax) + " items");
      return std::visit([this](const auto& known) { return check(known); }, item);
    });
  }
  SignatureFault take_fault() {
    return {.item = items_ == 0 ? 0 : items_ - 1, .cause = std::move(cause_)};
  }

 private:
  bool check(const AccessItem& access) {
    if (!check_number("offset", access.offset) || !check_number("size", access.size)) return false;
    if (access.interval_ns && !check_number("interval", *access.interval_ns)) return false;
    if (repetitions_ == 0) return true;
    const auto end = add_scaled(access.offset, 1, access.size);
    if (!end) return fail("offset + size exceeds 2^63 - 1");
    return check_at_most_max("offset + size", *end) && add_accesses(1);
  }

  bool check(const ListItem& list) {
    if (list.accesses.empty()) return fail("the list is empty");
    listed_ += list.accesses.size();
    if (listed_ > kListedAccessesMax)
      return fail("lists have at most " + std::to_string(kListedAccessesMax) + " accesses");
    for (const ByteRange& access : list.accesses)
      if (access.end() > kAccessesMax) return fail("offset + size exceeds 2^63 - 1");
    return add_accesses(list.accesses.size());
  }

  bool check(const LoopItem& loop) {
    if (depth_ == kLoopDepthMax)
      return fail("loops are nested at most " + std::to_string(kLoopDepthMax) + " deep");
    if (!check_variables("count", loop.count)) return false;
    const std::uint64_t outer = repetitions_;
    if (outer > 0) {
      const Bound least = bound_of(loop.count, counts(), Extreme::kLeast);
      if (!least.value) return fail("count is less than -2^63" + place_of(least, depth_));
      const Bound most = bound_of(loop.count, counts(), Extreme::kGreatest);
      if (!most.value) return fail("count exceeds 2^63 - 1" + place_of(most, depth_));
      const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(*most.value, 0));
      repetitions_ = saturating_product(outer, count);
    }
    counts_[depth_++] = loop.count;
    const bool is_valid = check_items(loop.items);
    --depth_;
    repetitions_ = outer;
    return is_valid;
  }

  /// 0 to 2^63 - 1 in each repetition.
  bool check_number(std::string_view name, const AffineNumber& number) {
    if (!check_variables(name, number)) return false;
    if (repetitions_ == 0) return true;
    const Bound least = bound_of(number, counts(), Extreme::kLeast);
    if (least.value.value_or(-1) < 0)
      return fail(std::string(name) + " is negative" + place_of(least, depth_));
    return check_at_most_max(name, number);
  }

  bool check_at_most_max(std::string_view name, const AffineNumber& number) {
    const Bound most = bound_of(number, counts(), Extreme::kGreatest);
    if (most.value) return true;
    return fail(std::string(name) + " exceeds 2^63 - 1" + place_of(most, depth_));
  }

  bool check_variables(std::string_view name, const AffineNumber& number) {
    for (std::size_t d = depth_; d < kLoopDepthMax; ++d)
      if (number.factors[d] != 0)
        return fail(std::string(name) + " depends on " + kVariables[d] +
                    ", but no loop around it has this variable");
    return true;
  }

  /// Counts accesses by bounds: the products of the greatest counts.
  bool add_accesses(std::uint64_t count) {
    const std::uint64_t added = saturating_product(repetitions_, count);
    if (added > kAccessesMax - accesses_) return fail("there are more than 2^63 - 1 accesses");
    accesses_ += added;
    return true;
  }

  std::span<const AffineNumber> counts() const { return std::span(counts_).first(depth_); }

  bool fail(std::string cause) {
    cause_ = std::move(cause);
    return false;
  }

  std::array<AffineNumber, kLoopDepthMax> counts_ = {};
  std::size_t depth_ = 0;
  std::uint64_t repetitions_ = 1;  // bound for the current item; 0: it is never run
  std::uint64_t accesses_ = 0;
  std::size_t listed_ = 0;
  std::size_t items_ = 0;
  std::string cause_;
};

}  // namespace

std::optional<SignatureFault> find_fault(const Signature& signature) {
  LimitChecker checker;
  if (checker.check_items(signature.items)) return std::nullopt;
  return checker.take_fault();
}

Status check_signature(const Signature& signature) {
  const auto fault = find_fault(signature);
  if (!fault) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "check signature",
                  .cause = "item " + std::to_string(fault->item + 1) + ": " + fault->cause});
}

}  // namespace forebay::trace
