// SPDX-License-Identifier: Apache-2.0
#include "push/difference_table.hpp"

#include <algorithm>
#include <utility>

namespace forebay::push {

void DifferenceTable::Column::observe(std::uint64_t value) noexcept {
  const std::size_t levels = std::min(levels_ + 1, differences_.size());
  for (std::size_t level = 0; level < levels; ++level) {
    const std::uint64_t before = std::exchange(differences_[level], value);
    is_repeated_[level] = level < levels_ && value == before;
    value -= before;
  }
  levels_ = levels;
}

std::optional<std::size_t> DifferenceTable::Column::degree() const noexcept {
  const auto found = std::ranges::find(is_repeated_, true);
  if (found == is_repeated_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - is_repeated_.begin());
}

void DifferenceTable::Column::extrapolate(std::size_t degree) noexcept {
  for (std::size_t level = degree; level > 0; --level)
    differences_[level - 1] += differences_[level];
}

void DifferenceTable::observe(const trace::Access& access) {
  if (!is_predictable(access.offset, access.size)) return;
  Prediction next;
  if (predict({&next, 1}) > 0) {
    const bool hit = next.offset == access.offset && next.size == access.size;
    hit ? recent_.record_hit() : recent_.record_miss();
  }
  offsets_.observe(access.offset);
  sizes_.observe(access.size);
}

std::size_t DifferenceTable::predict(std::span<Prediction> into) const {
  const auto offset_degree = offsets_.degree();
  const auto size_degree = sizes_.degree();
  if (!offset_degree || !size_degree) return 0;
  Column offsets = offsets_;
  Column sizes = sizes_;
  std::size_t count = 0;
  for (; count < into.size(); ++count) {
    offsets.extrapolate(*offset_degree);
    sizes.extrapolate(*size_degree);
    if (!is_predictable(offsets.value(), sizes.value())) break;
    into[count] = {offsets.value(), sizes.value(), recent_.value()};
  }
  return count;
}

}  // namespace forebay::push
