// SPDX-License-Identifier: Apache-2.0
#include "write/tuned_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/machine_text.hpp"
#include "write/cost.hpp"

namespace forebay::write {

namespace {

constexpr double kMediumRatioMax = 2;
constexpr double kLowRatioMax = 8;

double log_ratio(double a, double b) { return std::log2(a / b); }

/// The factor, at least 1, between the ranks of both.
double scale_ratio(const TuningScope& one, const TuningScope& other) {
  return std::exp2(std::abs(log_ratio(one.ranks, other.ranks)));
}

/// Whether `a` is a better source for `scope` than `b`: nearer, then measured in more runs.
bool is_better_source(const TuningEntry& a, const TuningEntry& b, const TuningScope& scope) {
  const double distance_a = scale_ratio(a.scope, scope);
  const double distance_b = scale_ratio(b.scope, scope);
  if (distance_a != distance_b) return distance_a < distance_b;
  const bool same_a = a.scope.nodes == scope.nodes;
  if (same_a != (b.scope.nodes == scope.nodes)) return same_a;
  return a.runs > b.runs;
}

/// The entries that apply: nearest one, nearest with at most, and with at least as many ranks.
struct Neighbors {
  const TuningEntry* nearest = nullptr;
  const TuningEntry* below = nullptr;
  const TuningEntry* above = nullptr;
};

Neighbors find_neighbors(const TuningProfile& profile, const TuningScope& scope) {
  Neighbors found;
  const auto keep_better = [&](const TuningEntry*& kept, const TuningEntry& entry) {
    if (kept == nullptr || is_better_source(entry, *kept, scope)) kept = &entry;
  };
  for (const TuningEntry& entry : profile.entries) {
    const bool is_near = scale_ratio(entry.scope, scope) <= kLowRatioMax;
    if (!is_near || !is_comparable(entry.scope, scope)) continue;
    keep_better(found.nearest, entry);
    keep_better(entry.scope.ranks <= scope.ranks ? found.below : found.above, entry);
  }
  return found;
}

/// The logarithm of a ratio at `scope`, on the line through its values at both entries.
double interpolate(const Neighbors& between,
                   const TuningScope& scope,
                   double (*log_value)(const TuningEntry&)) {
  const double span = log_ratio(between.above->scope.ranks, between.below->scope.ranks);
  const double part = log_ratio(scope.ranks, between.below->scope.ranks) / span;
  return (1 - part) * log_value(*between.below) + part * log_value(*between.above);
}

double log_writer_share(const TuningEntry& entry) {
  return log_ratio(entry.plan.writers, entry.scope.ranks);
}
double log_file_share(const TuningEntry& entry) {
  return log_ratio(entry.plan.files, entry.plan.writers);
}

std::uint32_t scaled_count(double log_share, std::uint32_t whole) {
  return static_cast<std::uint32_t>(
      std::clamp<double>(std::round(std::exp2(log_share) * whole), 1, whole));
}

WritePlan scaled_plan(const Neighbors& found, const TuningScope& scope) {
  WritePlan plan = tuned_values(found.nearest->plan);
  if (found.nearest->scope.ranks == scope.ranks) return plan;
  const bool has_both = found.below != nullptr && found.above != nullptr &&
                        found.below->plan.strategy == found.above->plan.strategy;
  const auto at_scope = [&](double (*log_value)(const TuningEntry&)) {
    return has_both ? interpolate(found, scope, log_value) : log_value(*found.nearest);
  };
  plan.writers = scaled_count(at_scope(log_writer_share), scope.ranks);
  plan.files = scaled_count(at_scope(log_file_share), plan.writers);
  return plan;
}

Confidence confidence_of(const TuningEntry& nearest, const TuningScope& scope) {
  const double ratio = scale_ratio(nearest.scope, scope);
  if (scope.rank_bytes == 0 || ratio > kMediumRatioMax) return Confidence::kLow;
  const bool is_same = ratio == 1 && nearest.scope.nodes == scope.nodes;
  return is_same ? Confidence::kHigh : Confidence::kMedium;
}

}  // namespace

std::string_view name_of(Confidence confidence) noexcept {
  constexpr std::array<std::string_view, 3> kNames{"high", "medium", "low"};
  return kNames.at(static_cast<std::size_t>(confidence));
}

TuningScope scope_of(const WriteFacts& facts) {
  TuningScope scope{.ranks = facts.rank_layout.compute_rank_count(),
                    .nodes = facts.rank_layout.node_count()};
  if (facts.machine != nullptr) {
    scope.machine = facts.machine->name;
    scope.machine_hash = model::numbers_hash(*facts.machine);
  }
  if (facts.step_bytes.empty()) return scope;
  const StepTotals totals = totals_of(facts);
  const double mean = totals.bytes / totals.ranks;
  if (mean <= 0) return scope;
  scope.rank_bytes = static_cast<std::uint64_t>(std::max(1.0, mean));
  scope.imbalance = std::max(1.0, totals.rank_bytes_max / mean);
  return scope;
}

std::optional<TunedPlan> find_tuned_plan(const TuningProfile& profile, const TuningScope& scope) {
  const Neighbors found = find_neighbors(profile, scope);
  if (found.nearest == nullptr) return std::nullopt;
  TunedPlan tuned{.plan = scaled_plan(found, scope),
                  .confidence = confidence_of(*found.nearest, scope)};
  tuned.reason = "tuned at " + std::to_string(found.nearest->scope.ranks) + " ranks to " +
                 model::number_text(found.nearest->median_s) + " s a step, " +
                 std::string(name_of(tuned.confidence)) + " confidence";
  return tuned;
}

std::optional<WritePlan> plan_by_profile(const TuningProfile& profile,
                                         const WriteFacts& facts,
                                         const WritePlan& requested) {
  const auto tuned = find_tuned_plan(profile, scope_of(facts));
  if (!tuned) return std::nullopt;
  const WritePlan& values = tuned->plan;
  const bool has_other_strategy =
      requested.strategy != Strategy::kAuto && requested.strategy != values.strategy;
  if (has_other_strategy) return std::nullopt;
  WritePlan merged = requested;
  merged.strategy = values.strategy;
  if (merged.writers == 0) merged.writers = values.writers;
  if (merged.files == 0) merged.files = values.files;
  if (merged.tuning.unit_bytes == 0) merged.tuning.unit_bytes = values.tuning.unit_bytes;
  if (merged.tuning.alignment_bytes == 0)
    merged.tuning.alignment_bytes = values.tuning.alignment_bytes;
  if (!merged.tuning.access) merged.tuning.access = values.tuning.access;
  if (!merged.tuning.exchange) merged.tuning.exchange = values.tuning.exchange;
  WriteFacts with_reason = facts;
  with_reason.storage_reason =
      tuned->reason + (facts.storage_reason.empty() ? "" : "; " + facts.storage_reason);
  Result<WritePlan> plan = plan_write(with_reason, merged);
  return plan ? std::optional(std::move(*plan)) : std::nullopt;
}

}  // namespace forebay::write
