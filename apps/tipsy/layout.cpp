// SPDX-License-Identifier: Apache-2.0
#include "tipsy/layout.hpp"

#include <algorithm>

namespace forebay::tipsy {

std::string_view name_of(Family family) noexcept {
  constexpr std::array<std::string_view, 3> kNames{"gas", "dark", "star"};
  return kNames[index_of(family)];
}

std::string_view name_of(ByteOrder order) noexcept {
  return order == ByteOrder::kStandard ? "standard" : "native";
}

std::string_view name_of(Precision precision) noexcept {
  constexpr std::array<std::string_view, 4> kNames{"single", "double-positions",
                                                   "double-velocities", "double"};
  return kNames[static_cast<std::size_t>(precision)];
}

namespace {

/// Offset of particle `index`; the end of the last record if `index` is past it.
std::uint64_t offset_of_particle(const Layout& layout, std::uint64_t index) {
  std::uint64_t offset = layout.header_bytes;
  for (const Family family : kFamilies) {
    const std::uint64_t count = std::min(index, layout.counts.of(family));
    offset += count * record_bytes(family, layout.precision);
    index -= count;
  }
  return offset;
}

}  // namespace

ByteRange Layout::bytes_of(ParticleRange range) const {
  const std::uint64_t first = offset_of_particle(*this, range.first);
  return {first, offset_of_particle(*this, range.end) - first};
}

std::uint64_t Layout::offset_of(Family family) const {
  std::uint64_t offset = header_bytes;
  for (const Family before : kFamilies) {
    if (before == family) break;
    offset += counts.of(before) * record_bytes(before, precision);
  }
  return offset;
}

RecordRun Layout::next_record_run(ParticleRange range, std::uint64_t limit_bytes) const {
  std::uint64_t family_first = 0;
  Family family = Family::kStar;
  for (const Family candidate : kFamilies) {
    family = candidate;
    if (range.first - family_first < counts.of(family)) break;
    if (candidate != kFamilies.back()) family_first += counts.of(candidate);
  }
  const std::uint64_t size = record_bytes(family, precision);
  const std::uint64_t in_family = std::min(range.end, family_first + counts.of(family));
  const std::uint64_t wanted = in_family - range.first;
  const std::uint64_t count = std::min(wanted, std::max<std::uint64_t>(limit_bytes / size, 1));
  const std::uint64_t offset = offset_of(family) + (range.first - family_first) * size;
  return {family, range.first, count, {offset, count * size}};
}

ParticleRange share_of(std::uint64_t particle_count, std::uint64_t index, std::uint64_t shares) {
  const std::uint64_t each = particle_count / shares;
  const std::uint64_t excess = particle_count % shares;
  const auto first_of = [&](std::uint64_t i) { return i * each + std::min(i, excess); };
  return {first_of(index), first_of(index + 1)};
}

}  // namespace forebay::tipsy
