// SPDX-License-Identifier: Apache-2.0
#include "push/shadow_score.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"

namespace forebay::push {

namespace {

bool is_exact(const Prediction& prediction, const trace::Access& access) noexcept {
  return prediction.offset == access.offset && prediction.size == access.size;
}

double share(std::uint64_t part, std::uint64_t whole) noexcept {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

ShadowScore::ShadowScore(Predictor& predictor, std::size_t ahead)
    : predictor_(predictor), ahead_(ahead) {
  FOREBAY_ASSERT(ahead >= 1);
  FOREBAY_ASSERT(ahead <= kAheadMax);
}

void ShadowScore::observe(const trace::Access& access) {
  if (!is_predictable(access.offset, access.size)) return;
  std::array<Prediction, kAheadMax> buffer;
  const std::size_t count = predictor_.predict(std::span(buffer).first(ahead_));
  const auto predicted = std::span(buffer).first(count);
  const auto matches = [&](const Prediction& one) { return is_exact(one, access); };
  tallies_[kPredicted].record(count > 0 ? 1 : 0);
  tallies_[kExact].record(count > 0 && matches(buffer[0]) ? 1 : 0);
  tallies_[kOffset].record(count > 0 && buffer[0].offset == access.offset ? 1 : 0);
  tallies_[kWithin].record(std::ranges::any_of(predicted, matches) ? 1 : 0);
  ++accesses_;
  predictor_.observe(access);
}

Shares ShadowScore::recent() const noexcept {
  const std::uint64_t accesses = std::min<std::uint64_t>(accesses_, kRecentAccesses);
  const auto of = [&](Kind kind) {
    return share(static_cast<std::uint64_t>(std::popcount(tallies_[kind].recent)), accesses);
  };
  return {of(kPredicted), of(kExact), of(kOffset), of(kWithin)};
}

Shares ShadowScore::total() const noexcept {
  const auto of = [&](Kind kind) { return share(tallies_[kind].total, accesses_); };
  return {of(kPredicted), of(kExact), of(kOffset), of(kWithin)};
}

}  // namespace forebay::push
