// SPDX-License-Identifier: Apache-2.0
// Predictor: the interface of all predictors. One observes the accesses of one stream, and predicts
// the next ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "trace/access.hpp"

namespace forebay::push {

/// Bytes that one predictor may keep for one stream.
inline constexpr std::size_t kPredictorStateBytesMax = std::size_t{16} << 10U;

struct Prediction {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  /// Share of its recent predictions that came true, 0 to 1.
  double confidence = 0;

  friend bool operator==(const Prediction&, const Prediction&) = default;
};

/// Whether predictors observe and predict such an access. They ignore accesses without bytes, and
/// those that end beyond 2^63 - 1.
inline bool is_predictable(std::uint64_t offset, std::uint64_t size) noexcept {
  constexpr std::uint64_t kEndMax = std::numeric_limits<std::int64_t>::max();
  return size > 0 && offset <= kEndMax && size <= kEndMax - offset;
}

/// One thread at a time. Nothing here allocates after the constructor, except where a class
/// states it.
class Predictor {
 public:
  Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  virtual ~Predictor() = default;

  /// As in settings and reports: "runs", "markov", ...
  virtual std::string_view name() const noexcept = 0;
  /// The next access of the stream.
  virtual void observe(const trace::Access& access) = 0;
  /// Stores the next accesses, nearest first. Returns their number: less than into.size() if it can
  /// predict no further, 0 if it predicts nothing.
  virtual std::size_t predict(std::span<Prediction> into) const = 0;
  /// Memory of this object, at most kPredictorStateBytesMax.
  virtual std::size_t state_bytes() const noexcept = 0;
};

}  // namespace forebay::push
