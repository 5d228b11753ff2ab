// SPDX-License-Identifier: Apache-2.0
// SuccessorTable: predicts that the accesses after an offset are those that followed it the last
// time. It catches the second epoch of a random permutation, and any series that is read again.
//
// A log of the newest 1024 accesses, with a hash index of offsets; the oldest leave it. Cost: one
// look-up for each observed access, none for a predicted one, and 15 KiB. Source: the global
// history buffer of Nesbit and Smith (Data Cache Prefetching Using a Global History Buffer,
// HPCA'04).
#pragma once

#include <array>
#include <optional>

#include "push/predictor.hpp"
#include "push/recent_share.hpp"

namespace forebay::push {

class SuccessorTable final : public Predictor {
 public:
  static constexpr std::size_t kAccessesMax = 1024;

  std::string_view name() const noexcept override { return "successor"; }
  /// Ignores accesses of 4 GiB and more.
  void observe(const trace::Access& access) override;
  std::size_t predict(std::span<Prediction> into) const override;
  std::size_t state_bytes() const noexcept override { return sizeof(*this); }

 private:
  static constexpr std::size_t kBuckets = 512;
  /// Entries are linked by their place in the log plus 1; 0 ends a list.
  using Link = std::uint16_t;

  static std::size_t bucket_of(std::uint64_t offset) noexcept;
  static std::size_t place_of(std::uint64_t number) noexcept { return number % kAccessesMax; }
  bool is_known(std::uint64_t number) const noexcept { return number < count_; }
  void judge(const trace::Access& access) noexcept;
  /// Removes the entry of `offset` from the index. Returns its place.
  std::optional<std::size_t> unlink(std::uint64_t offset) noexcept;
  void evict_oldest() noexcept;

  /// Access number n of the stream is in place n % kAccessesMax. The index has the newest access of
  /// each offset.
  std::array<std::uint64_t, kAccessesMax> offsets_ = {};
  std::array<std::uint32_t, kAccessesMax> sizes_ = {};
  std::array<Link, kAccessesMax> links_ = {};
  std::array<Link, kBuckets> buckets_ = {};
  std::uint64_t count_ = 0;  ///< all accesses
  std::uint64_t next_ = 0;   ///< number of the access that is predicted; count_: none
  RecentShare recent_{1};
};

}  // namespace forebay::push
