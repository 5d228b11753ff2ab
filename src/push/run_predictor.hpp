// SPDX-License-Identifier: Apache-2.0
// RunPredictor: predicts accesses that are nested runs: contiguous, strided, k-d strided, pairs,
// and loops whose count, stride and sizes change linearly from one outer repetition to the next, as
// in LU. Also consecutive accesses of varying size.
//
// Cost: about 10 ns for each access while its plan holds; after a miss 0.1 us, for a search over
// periods. A look-ahead takes about 4 ns for each access. 11 KiB. Source:
// docs/formats/signature.md; the idea of nested loop recognition is that of Ketterlin and Clauss,
// CGO'08.
#pragma once

#include "push/predictor.hpp"
#include "push/recent_share.hpp"
#include "push/run_plan.hpp"

namespace forebay::push {

class RunPredictor final : public Predictor {
 public:
  std::string_view name() const noexcept override { return "runs"; }
  void observe(const trace::Access& access) override;
  std::size_t predict(std::span<Prediction> into) const override;
  std::size_t state_bytes() const noexcept override { return sizeof(*this); }

 private:
  enum class Source { kNone, kPlan, kConsecutive };

  Source source() const noexcept;
  bool is_trusted() const noexcept { return evidence_ + hits_ >= evidence_min_; }
  void count_consecutive(const trace::Access& access) noexcept;
  void judge(const trace::Access& access) noexcept;
  void judge_plan(const trace::Access& access) noexcept;
  void replan(const trace::Access& access) noexcept;
  void begin_plan(std::uint32_t evidence) noexcept;

  RunHistory history_;
  RunPlan plan_;
  trace::Access last_;
  std::uint64_t consecutive_ = 0;  ///< newest accesses that began at the end of the one before
  RecentShare consecutive_share_{0};
  std::uint32_t evidence_ = 0;  ///< for the plan when it was made
  std::uint64_t hits_ = 0;      ///< of the plan
  /// Evidence that a plan needs. Chance repetitions raise it.
  std::uint32_t evidence_min_ = kEvidenceMin;
  /// Plans with less evidence are guesses. They are predicted while the credit lasts: a hit adds 1,
  /// a miss takes 2.
  std::uint32_t credit_ = kCreditMax;
  RecentShare recent_{1};

  static constexpr std::uint32_t kEvidenceMin = 2;
  static constexpr std::uint32_t kCreditMax = 16;
};

}  // namespace forebay::push
