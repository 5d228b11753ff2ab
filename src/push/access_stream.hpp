// SPDX-License-Identifier: Apache-2.0
// AccessStream: what is known of the coming accesses of one stream, and how far ahead to push.
//
// The sources of predictions are hints and the StreamPredictor. They are ranked by how many of
// their recent predictions came true: the Prefetch Strategy Selector of The Server-Push I/O
// Architecture for High-End Computing (Sun, Gropp, Thakur). The look-ahead is its request
// generator: it grows fourfold with each prediction that comes true, and ends at the accesses that
// will arrive within twice the latency of storage.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "push/ahead_queue.hpp"
#include "push/arrival_time.hpp"
#include "push/cache_simulation.hpp"
#include "push/parametric_predictor.hpp"
#include "push/stream_predictor.hpp"
#include "read/access_observer.hpp"

namespace forebay::push {

/// Where a hint comes from. Of equally good ones, the first is preferred.
enum class HintOrigin : std::uint8_t { kProgram, kHintFile, kProfile, kSource };

/// One thread at a time.
class AccessStream {
 public:
  /// Hints of a stream; further ones replace the oldest of the same or a lower rank.
  static constexpr std::size_t kHintsMax = 8;

  /// `signature` must satisfy check_signature().
  void add_hint(HintOrigin origin, std::shared_ptr<const trace::Signature> signature);
  /// Names in the signature are bound by the accesses of the stream.
  void add_hint(HintOrigin origin, std::shared_ptr<const ParametricSignature> signature);
  std::size_t hint_count() const noexcept { return hints_.size(); }

  /// The stream accesses `access` at the time of `clock`, and `outcome` is the state of its bytes.
  /// Returns false if the predictions in ahead() are wrong: the caller cancels their loads and
  /// clears ahead().
  bool observe(const trace::Access& access, const Clock& clock, read::AccessOutcome outcome);

  /// Predictions to push behind those in ahead(); nothing while enough are ahead. Uses `buffer`.
  /// `loads_max` is the number of loads that may be ahead, `latency` that of storage, 0: unknown.
  std::span<const Prediction> next_pushes(std::span<Prediction> buffer,
                                          std::uint64_t loads_max,
                                          std::chrono::nanoseconds latency);
  AheadQueue& ahead() noexcept { return ahead_; }
  const AheadQueue& ahead() const noexcept { return ahead_; }

  /// Accesses that were pushed and then read, and those that were pushed and dropped.
  std::uint64_t used() const noexcept { return used_; }
  std::uint64_t dropped() const noexcept { return dropped_; }
  std::size_t state_bytes() const noexcept {
    return sizeof(*this) - sizeof(online_) + online_.state_bytes();
  }

 private:
  struct Hint {
    HintOrigin origin;
    std::unique_ptr<Predictor> predictor;
    bool has_next;  ///< it predicts something
    PrecisionGate gate = {};
  };

  void add_hint(std::unique_ptr<Hint> hint);
  void judge(Hint& hint, const trace::Access& access);
  void observe_time(const Clock& clock, read::AccessOutcome outcome) noexcept;
  const Hint* best_hint() const noexcept;
  std::size_t guess(std::span<Prediction> into) const;
  bool is_wasteful() const noexcept;
  void end_run() noexcept;
  std::size_t run_ahead() const noexcept;
  std::size_t allowance(const Hint* hint) const noexcept;
  std::size_t accesses_within(std::chrono::nanoseconds horizon) const noexcept;

  std::vector<std::unique_ptr<Hint>> hints_;
  StreamPredictor online_;
  AheadQueue ahead_;
  std::array<trace::Access, 3> newest_ = {};  ///< newest first
  std::uint64_t observed_ = 0;
  const Hint* source_ = nullptr;  ///< of the predictions in ahead_; null: online_
  std::uint64_t run_ = 0;         ///< pushed accesses that were read since the last failure
  std::optional<std::uint64_t> usual_run_;  ///< mean of earlier runs, the newest counting half
  std::uint64_t used_ = 0;
  std::uint64_t dropped_ = 0;

  ArrivalTime arrival_;
  TimePoint last_ = {};
  bool is_after_hit_ = false;
  std::uint32_t quick_ = 0;    ///< newest intervals too short to matter
  std::uint32_t untimed_ = 0;  ///< accesses since last_, while all are quick
};

}  // namespace forebay::push
