// SPDX-License-Identifier: Apache-2.0
// Values of a synthetic profile: products and sums of small whole numbers, so that sums are exact,
// converted to the type of a metric.
#include <algorithm>
#include <numeric>

#include "command/random.hpp"
#include "cube/synthetic.hpp"

namespace forebay::cube {

namespace {

/// Random streams: one for each metric, and these two.
constexpr std::uint64_t kRowsStream = 1ULL << 40U;
constexpr std::uint64_t kCallPathsStream = 1ULL << 41U;
constexpr std::uint64_t kCallPathValueMax = 1000;
constexpr std::uint64_t kFactorMin = 900;
constexpr std::uint64_t kFactorRange = 200;
constexpr double kTick = 1e-6;

/// Writes numbers one after the other.
class Cursor {
 public:
  explicit Cursor(std::span<std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  void put(T number) {
    store(number, bytes_);
    bytes_ = bytes_.subspan(sizeof(T));
  }
  void put_doubles(std::uint32_t count, double number) {
    for (std::uint32_t i = 0; i < count; ++i)
      put(number * (i + 1));
  }

 private:
  std::span<std::byte> bytes_;
};

template <class T>
T truncate(std::uint64_t value, std::uint64_t modulus) {
  return static_cast<T>(value % modulus);
}

/// Values of both signs, for signed types.
template <class T>
T truncate_signed(std::uint64_t value, std::uint64_t modulus) {
  return static_cast<T>(static_cast<std::int64_t>(value % modulus) -
                        static_cast<std::int64_t>(modulus / 4));
}

void put_scale_function(Cursor& cursor, std::uint64_t value, double number) {
  const auto terms = truncate<std::uint32_t>(value, 3) + 1;
  const auto measurements = truncate<std::uint32_t>(value, 4);
  cursor.put(terms);
  cursor.put(measurements);
  for (std::uint32_t i = 0; i < terms; ++i) {
    cursor.put(number * (i + 1));
    cursor.put(static_cast<std::int32_t>(i) - 1);
    cursor.put(std::uint32_t{i + 1});
    cursor.put(static_cast<std::int32_t>(i));
  }
  for (std::uint32_t i = 0; i < measurements; ++i) {
    cursor.put(std::uint32_t{1U << i});
    cursor.put(number);
    cursor.put(number / 10);
  }
}

void put_record(Cursor& cursor, ValueType type, std::uint64_t value) {
  const double number = static_cast<double>(value) * kTick;
  switch (type.kind) {
    case ValueKind::kTauAtomic:
      cursor.put(truncate<std::uint32_t>(value, 1000) + 1);
      cursor.put_doubles(4, number);
      return;
    case ValueKind::kHistogram:
      cursor.put_doubles(type.count + 2, number);
      return;
    case ValueKind::kDoubles:
      cursor.put_doubles(type.count, number);
      return;
    case ValueKind::kScaleFunction:
      put_scale_function(cursor, value, number);
      return;
    default:
      cursor.put_doubles(2, number);
  }
}

void put_value(std::span<std::byte> bytes, ValueType type, std::uint64_t value) {
  Cursor cursor(bytes);
  switch (type.kind) {
    case ValueKind::kInt8:
      return cursor.put(truncate_signed<std::int8_t>(value, 160));
    case ValueKind::kUint8:
      return cursor.put(truncate<std::uint8_t>(value, 256));
    case ValueKind::kInt16:
      return cursor.put(truncate_signed<std::int16_t>(value, 40000));
    case ValueKind::kUint16:
      return cursor.put(truncate<std::uint16_t>(value, 65536));
    case ValueKind::kInt32:
      return cursor.put(truncate_signed<std::int32_t>(value, 1U << 31U));
    case ValueKind::kUint32:
      return cursor.put(truncate<std::uint32_t>(value, 1ULL << 32U));
    case ValueKind::kInt64:
      return cursor.put(static_cast<std::int64_t>(value));
    case ValueKind::kUint64:
      return cursor.put(value);
    case ValueKind::kDouble:
    case ValueKind::kMinDouble:
    case ValueKind::kMaxDouble:
      return cursor.put(static_cast<double>(value) * kTick);
    default:
      return put_record(cursor, type, value);
  }
}

}  // namespace

SyntheticValues::SyntheticValues(const Anchor& anchor, std::size_t metric, std::uint64_t seed)
    : type_(anchor.metrics[metric].type),
      call_path_values_(anchor.call_tree.size()),
      location_factors_(anchor.locations.size()) {
  command::Random call_paths(seed, kCallPathsStream + metric);
  for (std::uint64_t& value : call_path_values_)
    value = 1 + call_paths.bits() % kCallPathValueMax;
  if (anchor.metrics[metric].kind == MetricKind::kInclusive) {
    for (std::uint32_t index = anchor.call_tree.size(); index-- > 0;) {
      const std::uint32_t parent = anchor.call_tree.at(index).parent;
      if (parent != kNone) call_path_values_[parent] += call_path_values_[index];
    }
  }
  command::Random locations(seed, metric);
  for (std::uint16_t& factor : location_factors_)
    factor = static_cast<std::uint16_t>(kFactorMin + locations.bits() % kFactorRange);
}

void SyntheticValues::fill(std::uint32_t index, ByteOrder order, std::span<std::byte> row) const {
  const std::uint64_t size_bytes = type_.size_bytes();
  // Only this type leaves bytes unused; they would keep the previous content of `row`.
  if (type_.kind == ValueKind::kScaleFunction) std::ranges::fill(row, std::byte{0});
  auto rest = row;
  for (const std::uint16_t factor : location_factors_) {
    put_value(rest.first(size_bytes), type_, call_path_values_[index] * factor);
    rest = rest.subspan(size_bytes);
  }
  swap_value_bytes(type_, ByteOrder::kLittle, order, row);
}

namespace {

/// The set of rows that exist.
class PresentRows {
 public:
  PresentRows(const CallTree& tree, MetricKind kind)
      : tree_(tree),
        indices_(tree.call_paths_by_row(kind)),
        is_present_(tree.size(), true),
        children_(tree.size(), 0) {
    for (const CallPath& path : tree.paths())
      if (path.parent != kNone) ++children_[path.parent];
  }

  /// The rows without an existing row below them.
  std::vector<std::uint32_t> leaves() const {
    return filter([this](std::uint32_t index) { return children_[index] == 0; });
  }
  std::vector<std::uint32_t> all() const {
    return filter([](std::uint32_t) { return true; });
  }

  void remove(std::uint32_t row) {
    const std::uint32_t parent = tree_.at(indices_[row]).parent;
    is_present_[indices_[row]] = false;
    if (parent != kNone) --children_[parent];
  }

 private:
  template <class Wanted>
  std::vector<std::uint32_t> filter(const Wanted& is_wanted) const {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < tree_.size(); ++row)
      if (is_present_[indices_[row]] && is_wanted(indices_[row])) rows.push_back(row);
    return rows;
  }

  const CallTree& tree_;
  std::vector<std::uint32_t> indices_;   // by row
  std::vector<bool> is_present_;         // by index in the call tree
  std::vector<std::uint32_t> children_;  // present children, by index in the call tree
};

}  // namespace

std::vector<std::uint32_t> synthetic_rows(const CallTree& tree,
                                          MetricKind kind,
                                          std::uint32_t missing,
                                          std::uint64_t seed) {
  PresentRows rows(tree, kind);
  command::Random random(seed, kRowsStream);
  for (std::uint32_t i = 0; i < missing; ++i) {
    const std::vector<std::uint32_t> lowest = rows.leaves();
    rows.remove(lowest[random.bits() % lowest.size()]);
  }
  return rows.all();
}

}  // namespace forebay::cube
