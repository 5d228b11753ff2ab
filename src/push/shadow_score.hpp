// SPDX-License-Identifier: Apache-2.0
// ShadowScore: judges a predictor on a stream without reading anything. A selector compares the
// scores of several predictors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "push/predictor.hpp"

namespace forebay::push {

/// Shares of accesses, 0 to 1.
struct Shares {
  double predicted = 0;  ///< something was predicted as next
  double exact = 0;      ///< offset and size were predicted as next
  double offset = 0;     ///< the offset was predicted as next
  double within = 0;     ///< offset and size were among the next `ahead` predictions

  /// Share of the predictions that were exact.
  double precision() const noexcept { return predicted == 0 ? 0 : exact / predicted; }
};

/// One thread at a time.
class ShadowScore {
 public:
  static constexpr std::size_t kAheadMax = 16;
  static constexpr std::size_t kRecentAccesses = 64;

  /// `predictor` must outlive this object. `ahead` is at most kAheadMax.
  ShadowScore(Predictor& predictor, std::size_t ahead);

  /// Compares the access with the predictions, then passes it to the predictor. Ignores what
  /// is_predictable() excludes.
  void observe(const trace::Access& access);

  /// Of the newest kRecentAccesses.
  Shares recent() const noexcept;
  Shares total() const noexcept;
  std::uint64_t accesses() const noexcept { return accesses_; }

 private:
  /// Outcomes of one kind: a bit for each recent access, and their number.
  struct Tally {
    std::uint64_t recent = 0;
    std::uint64_t total = 0;
    void record(std::uint64_t outcome) noexcept {
      recent = recent << 1U | outcome;
      total += outcome;
    }
  };
  enum Kind : std::size_t { kPredicted, kExact, kOffset, kWithin, kKinds };

  Predictor& predictor_;
  std::size_t ahead_;
  std::uint64_t accesses_ = 0;
  std::array<Tally, kKinds> tallies_ = {};
};

}  // namespace forebay::push
