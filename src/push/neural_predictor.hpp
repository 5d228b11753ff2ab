// SPDX-License-Identifier: Apache-2.0
// NeuralPredictor: a multilayer perceptron that predicts the next step, a difference of offsets and
// a size, from the last 4 steps. It catches noisy patterns, in which the likely step depends on
// several earlier ones.
//
// The 16 most frequent steps are the inputs and outputs. 68 binary inputs, 16 hidden units, softmax
// over 17 outputs; stochastic gradient descent on cross entropy. Cost: about 0.1 us for each
// observed or predicted access, 0.3 us for each training step, and 7 KiB. Source: Rumelhart,
// Hinton and Williams (Nature 1986); steps as words, as in Hashemi et al. (Learning Memory Access
// Patterns, ICML'18).
#pragma once

#include <array>
#include <random>

#include "push/predictor.hpp"
#include "push/recent_share.hpp"

namespace forebay::push {

class NeuralPredictor final : public Predictor {
 public:
  /// The same seed and calls give the same predictions.
  explicit NeuralPredictor(std::uint32_t seed = 1);

  std::string_view name() const noexcept override { return "neural"; }
  /// Stores a sample and compares the access with the prediction. Does not train.
  void observe(const trace::Access& access) override;
  /// Nothing until half of the recent predictions came true.
  std::size_t predict(std::span<Prediction> into) const override;
  std::size_t state_bytes() const noexcept override { return sizeof(*this); }

  /// Trains with `steps` of the newest samples, chosen at random. Not concurrently with the other
  /// functions.
  void train(std::size_t steps);

 private:
  static constexpr std::size_t kSteps = 16;          ///< in the dictionary
  static constexpr std::size_t kWords = kSteps + 1;  ///< kSteps itself means any other step
  static constexpr std::size_t kContext = 4;
  static constexpr std::size_t kHidden = 16;
  static constexpr std::size_t kSamplesMax = 512;

  using Word = std::uint8_t;
  using Context = std::array<Word, kContext>;  ///< oldest first
  using Hidden = std::array<float, kHidden>;
  using Output = std::array<float, kWords>;
  /// A frequent step, found as Metwally et al. do (ICDT'05): a new one takes the place of the
  /// rarest.
  struct Step {
    std::uint64_t distance = 0;
    std::uint64_t size = 0;
    std::uint32_t count = 0;

    bool is(std::uint64_t other_distance, std::uint64_t other_size) const noexcept {
      return distance == other_distance && size == other_size;
    }
  };

  Word word_of(std::uint64_t distance, std::uint64_t size) noexcept;
  /// The words before sample `number`.
  Context context_before(std::uint64_t number) const noexcept;
  Hidden hidden_of(const Context& context) const noexcept;
  Output output_of(const Hidden& hidden) const noexcept;
  Word best_word(const Context& context) const noexcept;
  void train_once(const Context& context, Word target) noexcept;

  std::array<std::array<Hidden, kWords>, kContext> input_weights_ = {};
  Hidden hidden_biases_ = {};
  std::array<Hidden, kWords> output_weights_ = {};
  Output output_biases_ = {};
  std::array<Step, kSteps> steps_ = {};
  std::array<Word, kSamplesMax> words_ = {};  ///< number n is at n % kSamplesMax
  std::uint64_t count_ = 0;                   ///< all words
  std::uint64_t offset_ = 0;                  ///< of the newest access
  bool is_empty_ = true;
  std::minstd_rand random_;
  RecentShare recent_{0};
};

}  // namespace forebay::push
