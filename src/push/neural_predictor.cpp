// SPDX-License-Identifier: Apache-2.0
#include "push/neural_predictor.hpp"

#include <algorithm>
#include <cmath>

namespace forebay::push {

namespace {

constexpr float kLearningRate = 0.1F;
/// Nothing is predicted while fewer of the recent predictions came true.
constexpr double kTrainedShareMin = 0.5;
/// Counts are halved at this number, so that the dictionary follows the stream.
constexpr std::uint32_t kCountMax = 4096;

}  // namespace

static_assert(sizeof(NeuralPredictor) <= kPredictorStateBytesMax);

NeuralPredictor::NeuralPredictor(std::uint32_t seed) : random_(seed) {
  // Not std::uniform_real_distribution, whose values differ between standard libraries.
  const auto weight = [this] {
    return static_cast<float>(random_() % 2001) / 1000.0F * 0.25F - 0.25F;
  };
  for (auto& position : input_weights_) {
    for (Hidden& weights : position)
      std::ranges::generate(weights, weight);
  }
  for (Hidden& weights : output_weights_)
    std::ranges::generate(weights, weight);
}

NeuralPredictor::Word NeuralPredictor::word_of(std::uint64_t distance,
                                               std::uint64_t size) noexcept {
  const auto found =
      std::ranges::find_if(steps_, [&](const Step& step) { return step.is(distance, size); });
  if (found != steps_.end()) {
    if (++found->count >= kCountMax) {
      for (Step& step : steps_)
        step.count /= 2;
    }
    return static_cast<Word>(found - steps_.begin());
  }
  // A step that follows no pattern must not displace a frequent one at once.
  Step& rarest = *std::ranges::min_element(steps_, {}, &Step::count);
  if (rarest.count > 1) {
    --rarest.count;
    return kSteps;
  }
  rarest = {distance, size, 1};
  return static_cast<Word>(&rarest - steps_.data());
}

NeuralPredictor::Context NeuralPredictor::context_before(std::uint64_t number) const noexcept {
  Context context;
  for (std::size_t i = 0; i < kContext; ++i)
    context[i] = words_[(number - kContext + i) % kSamplesMax];
  return context;
}

NeuralPredictor::Hidden NeuralPredictor::hidden_of(const Context& context) const noexcept {
  Hidden hidden = hidden_biases_;
  for (std::size_t position = 0; position < kContext; ++position) {
    const Hidden& weights = input_weights_[position][context[position]];
    for (std::size_t unit = 0; unit < kHidden; ++unit)
      hidden[unit] += weights[unit];
  }
  for (float& unit : hidden)
    unit = std::max(unit, unit * 0.01F);  // leaky rectifier
  return hidden;
}

NeuralPredictor::Output NeuralPredictor::output_of(const Hidden& hidden) const noexcept {
  Output output = output_biases_;
  for (std::size_t word = 0; word < kWords; ++word) {
    for (std::size_t unit = 0; unit < kHidden; ++unit)
      output[word] += output_weights_[word][unit] * hidden[unit];
  }
  return output;
}

NeuralPredictor::Word NeuralPredictor::best_word(const Context& context) const noexcept {
  const Output output = output_of(hidden_of(context));
  return static_cast<Word>(std::ranges::max_element(output) - output.begin());
}

void NeuralPredictor::train_once(const Context& context, Word target) noexcept {
  const Hidden hidden = hidden_of(context);
  Output gradient = output_of(hidden);
  const float largest = *std::ranges::max_element(gradient);
  float total = 0;
  for (float& value : gradient)
    total += value = std::exp(value - largest);
  for (float& value : gradient)
    value *= kLearningRate / total;
  gradient[target] -= kLearningRate;
  Hidden back = {};
  for (std::size_t word = 0; word < kWords; ++word) {
    for (std::size_t unit = 0; unit < kHidden; ++unit) {
      back[unit] += gradient[word] * output_weights_[word][unit];
      output_weights_[word][unit] -= gradient[word] * hidden[unit];
    }
    output_biases_[word] -= gradient[word];
  }
  for (std::size_t unit = 0; unit < kHidden; ++unit) {
    if (hidden[unit] < 0) back[unit] *= 0.01F;
    hidden_biases_[unit] -= back[unit];
    for (std::size_t position = 0; position < kContext; ++position)
      input_weights_[position][context[position]][unit] -= back[unit];
  }
}

void NeuralPredictor::train(std::size_t steps) {
  const std::uint64_t kept = std::min<std::uint64_t>(count_, kSamplesMax);
  if (kept <= kContext) return;
  for (; steps > 0; --steps) {
    const std::uint64_t number = count_ - 1 - random_() % (kept - kContext);
    train_once(context_before(number), words_[number % kSamplesMax]);
  }
}

void NeuralPredictor::observe(const trace::Access& access) {
  if (!is_predictable(access.offset, access.size)) return;
  const std::uint64_t distance = access.offset - offset_;
  offset_ = access.offset;
  if (is_empty_) {
    is_empty_ = false;
    return;
  }
  if (count_ >= kContext) {
    const Word word = best_word(context_before(count_));
    const bool hit = word < kSteps && steps_[word].is(distance, access.size);
    hit ? recent_.record_hit() : recent_.record_miss();
  }
  words_[count_ % kSamplesMax] = word_of(distance, access.size);
  ++count_;
}

std::size_t NeuralPredictor::predict(std::span<Prediction> into) const {
  if (recent_.value() < kTrainedShareMin) return 0;
  Context context = context_before(count_);
  std::uint64_t offset = offset_;
  std::size_t count = 0;
  for (; count < into.size(); ++count) {
    const Word word = best_word(context);
    if (word == kSteps) break;
    offset += steps_[word].distance;
    if (!is_predictable(offset, steps_[word].size)) break;
    into[count] = {offset, steps_[word].size, recent_.value()};
    std::ranges::rotate(context, context.begin() + 1);
    context.back() = word;
  }
  return count;
}

}  // namespace forebay::push
