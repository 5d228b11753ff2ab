// SPDX-License-Identifier: Apache-2.0
// StreamPredictor: chooses among the predictors for one stream, changes the choice while the stream
// runs, and reports whether its predictions come true often enough to push data.
//
// Cost for each access: about 0.2 us in learning, where all predictors observe it. Otherwise a
// comparison and one observe(), about 20 ns. 38 KiB, and 6.4 KiB more with the neural predictor.
// Source: the states learning, prediction and supervision of The Server-Push I/O Architecture for
// High-End Computing (Sun, Gropp, Thakur). The rules and numbers are those of this file.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "push/predictor.hpp"

namespace forebay::push {

/// Bytes that all predictors of one stream may keep together.
inline constexpr std::size_t kStreamStateBytesMax = std::size_t{64} << 10U;

/// kLearning: all predictors observe and are judged, and the best one predicts. It becomes active
/// after 3 exact predictions in a row, or 15 of 16. Each return to this state doubles the 3, up to
/// 16; a success at an interval of 64 resets it.
///
/// kPrediction: only the active predictor observes, until 16 accesses were confirmed.
///
/// kSupervision: still only the active one observes, but every k-th access is judged: it counts for
/// gate(), and renews the predictions ahead, which corrects repetition counts. While gate() is
/// closed, every access counts for it. k doubles from 2 to 64. After a miss, k is 1 and all
/// predictors observe again. A better one becomes active. 16 hits in a row set k to 2 again; 4
/// misses among 16 accesses return to kLearning.
///
/// Predictors that paused continue with a jump of the stream, which all of them tolerate. Their
/// scores then start at 0.
enum class StreamState : std::uint8_t { kLearning, kPrediction, kSupervision };

/// The outcomes of the newest predictions.
class RecentOutcomes {
 public:
  static constexpr std::size_t kWindow = 16;

  void record_hit() noexcept { record(1); }
  void record_miss() noexcept { record(0); }
  std::size_t size() const noexcept { return size_; }
  std::size_t hits() const noexcept { return static_cast<std::size_t>(std::popcount(hits_)); }
  std::size_t misses() const noexcept { return size_ - hits(); }
  /// Hits since the newest miss.
  std::size_t streak() const noexcept { return static_cast<std::size_t>(std::countr_one(hits_)); }

 private:
  void record(unsigned outcome) noexcept {
    hits_ = static_cast<std::uint16_t>(hits_ << 1U | outcome);
    if (size_ < kWindow) ++size_;
  }

  std::uint16_t hits_ = 0;  ///< the newest is the lowest bit
  std::uint8_t size_ = 0;
};

/// Opens if at least 3/4 of the recent predictions came true, or 8 in a row. Closes below 1/2, or
/// after 16 accesses without a prediction.
class PrecisionGate {
 public:
  void record_hit() noexcept;
  void record_miss() noexcept;
  /// An access before which nothing was predicted.
  void record_silence() noexcept;
  bool is_open() const noexcept { return is_open_; }
  /// Too few outcomes to decide.
  bool is_new() const noexcept { return outcomes_.size() < RecentOutcomes::kWindow / 2; }
  const RecentOutcomes& outcomes() const noexcept { return outcomes_; }

 private:
  void update() noexcept;

  RecentOutcomes outcomes_;
  std::size_t silent_ = 0;  ///< newest accesses without a prediction
  bool is_open_ = false;
};

/// One thread at a time. Nothing here allocates after the constructor.
class StreamPredictor {
 public:
  /// With `neural_steps` > 0, there is also a NeuralPredictor. Each access that all predictors
  /// observe trains it with as many steps, of about 0.3 us each.
  explicit StreamPredictor(std::size_t neural_steps = 0);

  /// The next access of the stream. Ignores what is_predictable() excludes.
  void observe(const trace::Access& access);
  /// As Predictor::predict(). In kLearning, a guess of the best predictor.
  std::size_t predict(std::span<Prediction> into) const;

  StreamState state() const noexcept { return state_; }
  /// Name of the active predictor; empty in kLearning.
  std::string_view active() const noexcept;
  /// Whether to push what is predicted. A prediction counts as true if its offset was: data behind
  /// the right offset is of use even if the size differs.
  const PrecisionGate& gate() const noexcept { return gate_; }
  /// In kSupervision: every access of this number is judged.
  std::size_t interval() const noexcept { return interval_; }
  std::size_t state_bytes() const noexcept;

 private:
  struct Candidate {
    std::unique_ptr<Predictor> predictor;
    RecentOutcomes exact;
    Prediction next;
    bool has_next = false;
  };
  /// What the active predictor predicted some accesses ago.
  class Queue {
   public:
    bool is_next(const trace::Access& access) const noexcept {
      return head_ < size_ && is_exact(predictions_[head_], access);
    }
    bool is_empty() const noexcept { return head_ == size_; }
    const Prediction& front() const noexcept { return predictions_[head_]; }
    void pop() noexcept { ++head_; }
    void clear() noexcept { head_ = size_ = 0; }
    void refill(const Predictor& predictor);

   private:
    std::array<Prediction, 16> predictions_ = {};
    std::size_t head_ = 0;
    std::size_t size_ = 0;
  };

  static bool is_exact(const Prediction& prediction, const trace::Access& access) noexcept {
    return prediction.offset == access.offset && prediction.size == access.size;
  }

  /// Whether only the active predictor observes.
  bool is_locked() const noexcept { return interval_ > 1; }
  void lock(StreamState state, std::size_t interval) noexcept;
  void follow(const trace::Access& access);
  void confirm() noexcept;
  void unlock() noexcept;

  void judge_all(const trace::Access& access);
  void judge_leader(const trace::Access& access) noexcept;
  void learn() noexcept;
  void supervise() noexcept;
  bool is_steady(const Candidate& candidate) const noexcept;
  std::size_t best() const noexcept;

  std::vector<Candidate> candidates_;
  std::size_t leader_ = 0;  ///< the candidate that predicts
  StreamState state_ = StreamState::kLearning;
  std::size_t interval_ = 1;
  std::size_t until_judged_ = 0;  ///< accesses, while is_locked()
  std::size_t streak_min_ = kStreakMin;
  RecentOutcomes exact_;  ///< of the leader of the time, while not is_locked()
  Queue queue_;
  PrecisionGate gate_;
  std::size_t neural_steps_;

  static constexpr std::size_t kStreakMin = 3;
};

}  // namespace forebay::push
