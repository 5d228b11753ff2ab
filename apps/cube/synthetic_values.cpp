// SPDX-License-Identifier: Apache-2.0
// Values of a synthetic profile: small whole numbers multiplied and added, so that sums are exact,
// then written in whatever type a metric has.
#include <algorithm>
#include <numeric>

#include "command/random.hpp"
#include "cube/synthetic.hpp"

namespace forebay::cube {

namespace {

/// Streams of random numbers: of metrics, and one for rows.
constexpr std::uint64_t kRowsStream = 1ULL << 40U;
constexpr std::uint64_t kPlacesStream = 1ULL << 41U;
constexpr std::uint64_t kPlaceMax = 1000;
constexpr std::uint64_t kFactorLeast = 900;
constexpr std::uint64_t kFactorRange = 200;
constexpr double kTick = 1e-6;

/// Writes numbers one behind the other.
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
T cut(std::uint64_t value, std::uint64_t modulus) {
  return static_cast<T>(value % modulus);
}

/// Signed types get values of both signs.
template <class T>
T cut_signed(std::uint64_t value, std::uint64_t modulus) {
  return static_cast<T>(static_cast<std::int64_t>(value % modulus) -
                        static_cast<std::int64_t>(modulus / 4));
}

void put_scale_function(Cursor& cursor, std::uint64_t value, double number) {
  const auto terms = cut<std::uint32_t>(value, 3) + 1;
  const auto measurements = cut<std::uint32_t>(value, 4);
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
      cursor.put(cut<std::uint32_t>(value, 1000) + 1);
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
      return cursor.put(cut_signed<std::int8_t>(value, 160));
    case ValueKind::kUint8:
      return cursor.put(cut<std::uint8_t>(value, 256));
    case ValueKind::kInt16:
      return cursor.put(cut_signed<std::int16_t>(value, 40000));
    case ValueKind::kUint16:
      return cursor.put(cut<std::uint16_t>(value, 65536));
    case ValueKind::kInt32:
      return cursor.put(cut_signed<std::int32_t>(value, 1U << 31U));
    case ValueKind::kUint32:
      return cursor.put(cut<std::uint32_t>(value, 1ULL << 32U));
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
      of_place_(anchor.call_tree.size()),
      of_location_(anchor.locations.size()) {
  command::Random places(seed, kPlacesStream + metric);
  for (std::uint64_t& value : of_place_)
    value = 1 + places.bits() % kPlaceMax;
  if (anchor.metrics[metric].kind == MetricKind::kInclusive) {
    for (std::uint32_t place = anchor.call_tree.size(); place-- > 0;) {
      const std::uint32_t parent = anchor.call_tree.at(place).parent;
      if (parent != kNone) of_place_[parent] += of_place_[place];
    }
  }
  command::Random locations(seed, metric);
  for (std::uint16_t& factor : of_location_)
    factor = static_cast<std::uint16_t>(kFactorLeast + locations.bits() % kFactorRange);
}

void SyntheticValues::fill(std::uint32_t place, ByteOrder order, std::span<std::byte> row) const {
  const std::uint64_t size_bytes = type_.size_bytes();
  // Only this type leaves bytes unused, which would keep what was in `row` before.
  if (type_.kind == ValueKind::kScaleFunction) std::ranges::fill(row, std::byte{0});
  auto rest = row;
  for (const std::uint16_t factor : of_location_) {
    put_value(rest.first(size_bytes), type_, of_place_[place] * factor);
    rest = rest.subspan(size_bytes);
  }
  turn_values(type_, ByteOrder::kLittle, order, row);
}

namespace {

/// The rows that are there.
class Rows {
 public:
  Rows(const CallTree& tree, MetricKind kind)
      : tree_(tree),
        places_(tree.places_by_row(kind)),
        is_there_(tree.size(), true),
        children_(tree.size(), 0) {
    for (const CallPath& path : tree.paths())
      if (path.parent != kNone) ++children_[path.parent];
  }

  /// Those with nothing below them that is there.
  std::vector<std::uint32_t> lowest() const {
    return chosen([this](std::uint32_t place) { return children_[place] == 0; });
  }
  std::vector<std::uint32_t> all() const {
    return chosen([](std::uint32_t) { return true; });
  }

  void take_away(std::uint32_t row) {
    const std::uint32_t parent = tree_.at(places_[row]).parent;
    is_there_[places_[row]] = false;
    if (parent != kNone) --children_[parent];
  }

 private:
  template <class Wanted>
  std::vector<std::uint32_t> chosen(const Wanted& is_wanted) const {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < tree_.size(); ++row)
      if (is_there_[places_[row]] && is_wanted(places_[row])) rows.push_back(row);
    return rows;
  }

  const CallTree& tree_;
  std::vector<std::uint32_t> places_;  // by row
  std::vector<bool> is_there_;         // by place, as the number of children that are there
  std::vector<std::uint32_t> children_;
};

}  // namespace

std::vector<std::uint32_t> synthetic_rows(const CallTree& tree,
                                          MetricKind kind,
                                          std::uint32_t missing,
                                          std::uint64_t seed) {
  Rows rows(tree, kind);
  command::Random random(seed, kRowsStream);
  for (std::uint32_t i = 0; i < missing; ++i) {
    const std::vector<std::uint32_t> lowest = rows.lowest();
    rows.take_away(lowest[random.bits() % lowest.size()]);
  }
  return rows.all();
}

}  // namespace forebay::cube
