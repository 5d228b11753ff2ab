// SPDX-License-Identifier: Apache-2.0
#include "push/markov_predictor.hpp"

#include <algorithm>

namespace forebay::push {

namespace {

constexpr std::uint32_t kStrengthMax = 7;
constexpr std::uint64_t kSeedOfTwo = 0x9e3779b97f4a7c15;

/// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA'14).
std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111eb;
  return value ^ (value >> 31U);
}

std::uint32_t tag_of(std::uint64_t context) noexcept {
  return static_cast<std::uint32_t>(context >> 32U);
}

}  // namespace

std::uint64_t MarkovPredictor::hash_of(std::uint64_t seed, const Step& step) noexcept {
  return mix(mix(seed + step.distance) + step.size) | 1U;
}

MarkovPredictor::Contexts MarkovPredictor::next_contexts(const Contexts& contexts,
                                                         const Step& step) noexcept {
  const std::uint64_t two = contexts.one == 0 ? 0 : hash_of(contexts.one ^ kSeedOfTwo, step);
  return {.one = hash_of(0, step), .two = two};
}

const MarkovPredictor::Entry* MarkovPredictor::find(std::uint64_t context) const noexcept {
  if (context == 0) return nullptr;
  for (const Entry& entry : sets_[(context >> 1U) % kSets]) {
    if (entry.strength > 0 && entry.tag == tag_of(context)) return &entry;
  }
  return nullptr;
}

const MarkovPredictor::Entry* MarkovPredictor::find(const Contexts& contexts) const noexcept {
  const Entry* const entry = find(contexts.two);
  return entry != nullptr ? entry : find(contexts.one);
}

void MarkovPredictor::learn(std::uint64_t context, const Step& step) noexcept {
  if (context == 0) return;
  Set& set = sets_[(context >> 1U) % kSets];
  for (Entry& entry : set) {
    if (entry.strength == 0 || entry.tag != tag_of(context)) continue;
    if (entry.step == step)
      entry.strength = std::min(entry.strength + 1, kStrengthMax);
    else if (--entry.strength == 0)
      entry = {step, tag_of(context), 1};
    return;
  }
  Entry& weakest = *std::ranges::min_element(set, {}, &Entry::strength);
  if (weakest.strength <= 1) {
    weakest = {step, tag_of(context), 1};
    return;
  }
  for (Entry& entry : set)
    --entry.strength;
}

void MarkovPredictor::observe(const trace::Access& access) {
  if (!is_predictable(access.offset, access.size)) return;
  const Step step{access.offset - offset_, access.size};
  offset_ = access.offset;
  if (is_empty_) {
    is_empty_ = false;
    return;
  }
  if (const Entry* const entry = find(contexts_); entry != nullptr)
    entry->step == step ? recent_.record_hit() : recent_.record_miss();
  learn(contexts_.one, step);
  learn(contexts_.two, step);
  contexts_ = next_contexts(contexts_, step);
}

std::size_t MarkovPredictor::predict(std::span<Prediction> into) const {
  if (recent_.value() < kShareMin) return 0;
  Contexts contexts = contexts_;
  std::uint64_t offset = offset_;
  std::size_t count = 0;
  for (; count < into.size(); ++count) {
    const Entry* const entry = find(contexts);
    if (entry == nullptr) break;
    offset += entry->step.distance;
    if (!is_predictable(offset, entry->step.size)) break;
    into[count] = {offset, entry->step.size, recent_.value()};
    contexts = next_contexts(contexts, entry->step);
  }
  return count;
}

}  // namespace forebay::push
