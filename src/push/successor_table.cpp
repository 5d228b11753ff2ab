// SPDX-License-Identifier: Apache-2.0
#include "push/successor_table.hpp"

namespace forebay::push {

static_assert(sizeof(SuccessorTable) <= kPredictorStateBytesMax);

std::size_t SuccessorTable::bucket_of(std::uint64_t offset) noexcept {
  return (offset * 0x9e3779b97f4a7c15) >> 55U;  // Fibonacci hashing; 9 bits
}

std::optional<std::size_t> SuccessorTable::unlink(std::uint64_t offset) noexcept {
  for (Link* link = &buckets_[bucket_of(offset)]; *link != 0; link = &links_[*link - 1]) {
    const std::size_t place = *link - 1U;
    if (offsets_[place] != offset) continue;
    *link = links_[place];
    return place;
  }
  return std::nullopt;
}

void SuccessorTable::evict_oldest() noexcept {
  const std::size_t place = place_of(count_);
  for (Link* link = &buckets_[bucket_of(offsets_[place])]; *link != 0; link = &links_[*link - 1]) {
    if (*link - 1U != place) continue;
    *link = links_[place];
    return;
  }
}

void SuccessorTable::judge(const trace::Access& access) noexcept {
  if (!is_known(next_)) return;
  const bool hit = offsets_[place_of(next_)] == access.offset;
  hit ? recent_.record_hit() : recent_.record_miss();
}

void SuccessorTable::observe(const trace::Access& access) {
  if (!is_predictable(access.offset, access.size)) return;
  if (access.size > std::numeric_limits<std::uint32_t>::max()) return;
  judge(access);
  const auto found = unlink(access.offset);
  const std::size_t place = place_of(count_);
  // The number of the newest access at that place.
  if (found) next_ = count_ - (place + kAccessesMax - *found - 1) % kAccessesMax;
  if (count_ >= kAccessesMax) evict_oldest();
  offsets_[place] = access.offset;
  sizes_[place] = static_cast<std::uint32_t>(access.size);
  Link& bucket = buckets_[bucket_of(access.offset)];
  links_[place] = bucket;
  bucket = static_cast<Link>(place + 1);
  ++count_;
  if (!found) next_ = count_;
}

std::size_t SuccessorTable::predict(std::span<Prediction> into) const {
  if (recent_.value() < kShareMin) return 0;
  std::size_t count = 0;
  for (; count < into.size() && is_known(next_ + count); ++count) {
    const std::size_t place = place_of(next_ + count);
    into[count] = {offsets_[place], sizes_[place], recent_.value()};
  }
  return count;
}

}  // namespace forebay::push
