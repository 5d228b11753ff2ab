// SPDX-License-Identifier: Apache-2.0
#include "cube/metric_rows.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

namespace forebay::cube {

namespace {

bool is_extreme(ValueType type) {
  return type.kind == ValueKind::kMinDouble || type.kind == ValueKind::kMaxDouble;
}

/// Calls `act` with a number of the type of which values of `type` consist.
template <class Act>
void dispatch_number(ValueType type, const Act& act) {
  switch (type.kind) {
    case ValueKind::kInt8:
      return act(std::int8_t{});
    case ValueKind::kUint8:
      return act(std::uint8_t{});
    case ValueKind::kInt16:
      return act(std::int16_t{});
    case ValueKind::kUint16:
      return act(std::uint16_t{});
    case ValueKind::kInt32:
      return act(std::int32_t{});
    case ValueKind::kUint32:
      return act(std::uint32_t{});
    case ValueKind::kInt64:
      return act(std::int64_t{});
    case ValueKind::kUint64:
      return act(std::uint64_t{});
    default:
      return act(double{});
  }
}

bool is_integer(ValueType type) { return type.kind <= ValueKind::kUint64; }

/// Integers wrap around in two's complement, which C++ allows for unsigned ones only.
template <class Wide>
Wide wrapping_add(Wide a, Wide b) {
  if constexpr (std::is_integral_v<Wide>) {
    return static_cast<Wide>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

template <class Wide>
Wide wrapping_subtract(Wide a, Wide b) {
  if constexpr (std::is_integral_v<Wide>) {
    return static_cast<Wide>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  } else {
    return a - b;
  }
}

/// Calls `join(sum, number)` for each number of a packed row.
template <class Wide, class Join>
void combine_numbers(ValueType type,
                     std::span<const std::byte> stored,
                     std::span<Wide> sum,
                     const Join& join) {
  dispatch_number(type, [&](auto number) {
    const std::byte* at = stored.data();
    for (Wide& total : sum) {
      std::memcpy(&number, at, sizeof number);
      at += sizeof number;
      total = join(total, static_cast<Wide>(number));
    }
  });
}

/// How a row combines with the previous ones.
enum class CombineOp : std::uint8_t { kReplace, kAdd, kSubtract };

template <class Wide>
void combine_row(ValueType type,
                 std::span<const std::byte> stored,
                 std::span<Wide> sum,
                 CombineOp op) {
  if (op == CombineOp::kReplace) {
    combine_numbers(type, stored, sum, [](Wide, Wide b) { return b; });
  } else if (type.kind == ValueKind::kMinDouble) {
    combine_numbers(type, stored, sum, [](Wide a, Wide b) { return std::min(a, b); });
  } else if (type.kind == ValueKind::kMaxDouble) {
    combine_numbers(type, stored, sum, [](Wide a, Wide b) { return std::max(a, b); });
  } else if (op == CombineOp::kSubtract) {
    combine_numbers(type, stored, sum, wrapping_subtract<Wide>);
  } else {
    combine_numbers(type, stored, sum, wrapping_add<Wide>);
  }
}

/// The type of sums of values; none if such values cannot be added number by number.
std::optional<ValueType> sum_type(ValueType type) {
  switch (type.kind) {
    case ValueKind::kInt8:
    case ValueKind::kInt16:
    case ValueKind::kInt32:
      return ValueType{ValueKind::kInt64, 1};
    case ValueKind::kUint8:
    case ValueKind::kUint16:
    case ValueKind::kUint32:
      return ValueType{ValueKind::kUint64, 1};
    case ValueKind::kTauAtomic:
    case ValueKind::kHistogram:
    case ValueKind::kScaleFunction:
      return std::nullopt;
    default:
      return type;
  }
}

}  // namespace

MetricRows::MetricRows(const Profile& profile)
    : profile_(profile),
      subtree_ends_(profile.anchor().call_tree.subtree_ends()),
      exclusive_rows_(profile.anchor().call_tree.rows_by_call_path(MetricKind::kExclusive)),
      inclusive_rows_(profile.anchor().call_tree.rows_by_call_path(MetricKind::kInclusive)) {}

std::vector<MetricRows::Term> MetricRows::terms_of(const FlavoredRow& which) const {
  const auto& stored = profile_.rows(which.metric);
  if (!stored) return {};
  std::vector<Term> terms;
  const auto add = [&](std::uint32_t row, bool is_subtracted) {
    if (stored->index_of(row)) terms.push_back({row, is_subtracted});
  };
  const CallTree& tree = profile_.anchor().call_tree;
  const MetricKind kind = profile_.anchor().metrics[which.metric].kind;
  const bool is_inclusive = kind == MetricKind::kInclusive;
  const auto& rows = is_inclusive ? inclusive_rows_ : exclusive_rows_;
  add(rows[which.call_path], false);
  if (kind == which.flavor) return terms;
  for (std::uint32_t below = which.call_path + 1; below < subtree_ends_[which.call_path]; ++below)
    if (!is_inclusive || tree.at(below).parent == which.call_path) add(rows[below], is_inclusive);
  return terms;
}

bool MetricRows::is_zero(const FlavoredRow& which) const { return terms_of(which).empty(); }

Result<ValueType> MetricRows::converted_type(const FlavoredRow& which) const {
  const Metric& metric = profile_.anchor().metrics[which.metric];
  if (metric.kind == which.flavor) return metric.type;
  const bool is_apart = which.flavor == MetricKind::kExclusive;
  const auto type = sum_type(metric.type);
  if (type && !(is_extreme(metric.type) && is_apart)) return *type;
  return failure({.kind = ErrorClass::kUnsupported,
                  .operation = "convert metric",
                  .path = profile_.path(),
                  .cause = fmt::format("{} is {} and has values of type {}, which cannot be {}",
                                       metric.unique_name, name_of(metric.kind), metric.type.name(),
                                       is_apart ? "subtracted" : "added")});
}

template <class Wide>
Status MetricRows::combine(const FlavoredRow& which,
                           std::vector<Wide>& sum,
                           FlavorScratch& scratch) const {
  const Metric& metric = profile_.anchor().metrics[which.metric];
  scratch.stored.resize(profile_.anchor().row_bytes(metric));
  std::uint64_t numbers = profile_.anchor().location_count();
  if (!metric.type.is_scalar()) numbers = scratch.stored.size() / sizeof(double);
  sum.assign(numbers, Wide{});
  const auto terms = terms_of(which);
  for (const Term& term : terms) {
    const Status read = profile_.read_row(which.metric, term.row, scratch.stored, scratch.row);
    if (!read) return read;
    const bool is_first = &term == &terms.front();
    const CombineOp op = term.is_subtracted ? CombineOp::kSubtract
                         : is_first         ? CombineOp::kReplace
                                            : CombineOp::kAdd;
    combine_row(metric.type, scratch.stored, std::span(sum), op);
  }
  return {};
}

Status MetricRows::read_stored(const FlavoredRow& which,
                               std::span<double> into,
                               FlavorScratch& scratch) const {
  const Metric& metric = profile_.anchor().metrics[which.metric];
  const auto& rows = which.flavor == MetricKind::kInclusive ? inclusive_rows_ : exclusive_rows_;
  const std::uint32_t row = rows[which.call_path];
  if (!is_integer(metric.type)) {
    return profile_.read_row(which.metric, row, std::as_writable_bytes(into), scratch.row);
  }
  scratch.stored.resize(profile_.anchor().row_bytes(metric));
  const Status read = profile_.read_row(which.metric, row, scratch.stored, scratch.row);
  return read ? as_doubles(metric.type, scratch.stored, into) : read;
}

Status MetricRows::read_numbers(const FlavoredRow& which,
                                std::span<double> into,
                                FlavorScratch& scratch) const {
  const Metric& metric = profile_.anchor().metrics[which.metric];
  if (!metric.type.is_scalar()) {
    return failure(
        {.kind = ErrorClass::kUnsupported,
         .operation = "evaluate",
         .path = profile_.path(),
         .cause = fmt::format("{} has values of type {}; expressions require single numbers",
                              metric.unique_name, metric.type.name())});
  }
  const bool is_stored = metric.kind == which.flavor;
  if (is_stored) return read_stored(which, into, scratch);
  const auto type = converted_type(which);
  if (!type) return failure(type.error());
  if (!is_integer(metric.type)) {
    if (const Status done = combine(which, scratch.doubles, scratch); !done) return done;
    std::ranges::copy(scratch.doubles, into.begin());
    return {};
  }
  if (const Status done = combine(which, scratch.integers, scratch); !done) return done;
  const bool is_unsigned = sum_type(metric.type)->kind == ValueKind::kUint64;
  std::ranges::transform(scratch.integers, into.begin(), [&](std::int64_t number) {
    return is_unsigned ? static_cast<double>(static_cast<std::uint64_t>(number))
                       : static_cast<double>(number);
  });
  return {};
}

Status MetricRows::read_converted(const FlavoredRow& which,
                                  std::span<std::byte> into,
                                  FlavorScratch& scratch) const {
  const auto type = converted_type(which);
  if (!type) return failure(type.error());
  const auto copy = [&](const auto& sum) {
    std::ranges::copy(std::as_bytes(std::span(sum)), into.begin());
  };
  if (is_integer(profile_.anchor().metrics[which.metric].type)) {
    if (const Status done = combine(which, scratch.integers, scratch); !done) return done;
    copy(scratch.integers);
  } else {
    if (const Status done = combine(which, scratch.doubles, scratch); !done) return done;
    copy(scratch.doubles);
  }
  return {};
}

}  // namespace forebay::cube
