// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/samples.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace forebay::bench::checkpoint {

namespace {

using nlohmann::json;

constexpr double kMegabyte = 1e6;
constexpr const char* kBandwidthUnit = "MB/s";

using Metric = std::function<double(const TrialResult&)>;

json summary_json(const std::vector<double>& values) {
  const Summary summary = summarize(values);
  return {{"value", summary.median}, {"spread", {summary.low, summary.high}}};
}

json summarize_metric(const std::vector<TrialResult>& samples, const Metric& metric) {
  std::vector<double> values;
  std::transform(samples.begin(), samples.end(), std::back_inserter(values), metric);
  return summary_json(values);
}

/// The times of a writing case.
void add_times(json& metrics, const Case& bench_case, const std::vector<TrialResult>& samples) {
  const double steps = bench_case.steps;
  metrics["perceived_mb_s"] = summarize_metric(samples, [](const TrialResult& one) {
    return one.payload_bytes / one.blocked_s / kMegabyte;
  });
  metrics["drain_s"] =
      summarize_metric(samples, [](const TrialResult& one) { return one.durable_s - one.total_s; });
  metrics["overhead"] =
      summarize_metric(samples, [](const TrialResult& one) { return one.blocked_s / one.total_s; });
  metrics["fill_s"] = summarize_metric(samples, [](const TrialResult& one) { return one.fill_s; });
  if (bench_case.compute_kind != ComputeKind::kNone) return;
  metrics["durable_mb_s"] = summarize_metric(samples, [](const TrialResult& one) {
    return one.payload_bytes / one.durable_s / kMegabyte;
  });
  metrics["interval_s"] =
      summarize_metric(samples, [steps](const TrialResult& one) { return one.durable_s / steps; });
}

void add_costs(json& metrics, const Case& bench_case, const std::vector<TrialResult>& samples) {
  const double ranks = bench_case.writers;
  metrics["memory_max_bytes"] =
      summarize_metric(samples, [](const TrialResult& one) { return one.memory_max_bytes; });
  metrics["memory_sum_bytes"] =
      summarize_metric(samples, [](const TrialResult& one) { return one.memory_sum_bytes; });
  metrics["staging_bytes"] =
      summarize_metric(samples, [](const TrialResult& one) { return one.staging_bytes; });
  metrics["staging_over_plan"] =
      summarize_metric(samples, [](const TrialResult& one) { return one.staging_over_plan; });
  metrics["files"] = summarize_metric(samples, [](const TrialResult& one) { return one.files; });
  metrics["metadata_calls"] =
      summarize_metric(samples, [](const TrialResult& one) { return one.metadata_calls; });
  metrics["dedicated_ranks"] = summarize_metric(
      samples, [ranks](const TrialResult& one) { return one.dedicated_ranks / ranks; });
}

/// The time from the first step until all is on storage / the computation without checkpoints in
/// the same round. Both have the same number of samples.
std::vector<double> durable_over_alone(const std::vector<TrialResult>& samples,
                                       const std::vector<TrialResult>& alone) {
  std::vector<double> values;
  for (std::size_t round = 0; round < samples.size(); ++round)
    values.push_back(samples[round].durable_s / alone[round].total_s);
  return values;
}

/// Computing time / that without checkpoints in the same round.
void add_inflation(json& metrics,
                   const std::vector<TrialResult>& samples,
                   const std::vector<TrialResult>& alone) {
  if (alone.size() != samples.size() || alone.empty()) return;
  std::vector<double> compute_kind;
  for (std::size_t round = 0; round < samples.size(); ++round)
    compute_kind.push_back(samples[round].computing_s / alone[round].computing_s);
  metrics["computing_over_alone"] = summary_json(compute_kind);
  metrics["durable_over_alone"] = summary_json(durable_over_alone(samples, alone));
}

/// Lower is better for time, higher for bandwidth.
bool is_better(const Case& bench_case, const Summary& one, const Summary& other) {
  return bench_case.compute_kind == ComputeKind::kNone ? one.median > other.median
                                                       : one.median < other.median;
}

Summary ratio_in(const Case& bench_case,
                 const Samples& samples,
                 const std::string& over,
                 const std::string& under) {
  return summarize(ratios(bandwidths(bench_case, samples.get(bench_case.id, over)),
                          bandwidths(bench_case, samples.get(bench_case.id, under))));
}

/// Tracks the worst ratio of the automatic plan. The goal compares the best of Forebay's variants
/// with the best of the baseline; this ratio is of a single variant.
void update_worst_automatic(const Case& bench_case,
                            const Samples& samples,
                            const std::string& theirs,
                            std::optional<Peer>& worst) {
  const std::string chosen(kAutomaticPlan);
  if (samples.get(bench_case.id, chosen).empty()) return;
  const Summary ratio = ratio_in(bench_case, samples, chosen, theirs);
  if (!worst || ratio.median < worst->measured.median)
    worst = Peer{"ratio of " + chosen + " in " + bench_case.id, "1", ratio};
}

}  // namespace

void Samples::add(const Case& bench_case, const std::string& name, const TrialResult& measured) {
  cases_[bench_case.id][name].push_back(measured);
}

void Samples::remove(const Case& bench_case, const std::string& name) {
  cases_[bench_case.id].erase(name);
}

const std::vector<TrialResult>& Samples::get(const std::string& case_id,
                                             std::string_view name) const {
  static const std::vector<TrialResult> nothing;
  const auto found = cases_.find(case_id);
  if (found == cases_.end()) return nothing;
  const auto samples = found->second.find(name);
  return samples == found->second.end() ? nothing : samples->second;
}

std::vector<std::string> Samples::names(const std::string& case_id) const {
  std::vector<std::string> names;
  const auto found = cases_.find(case_id);
  if (found == cases_.end()) return names;
  for (const auto& [name, samples] : found->second) {
    if (name != kComputeOnly) names.push_back(name);
  }
  return names;
}

std::vector<double> bandwidths(const Case& bench_case, const std::vector<TrialResult>& samples) {
  std::vector<double> values;
  for (const TrialResult& one : samples) {
    const double seconds = bench_case.readers > 0 ? one.blocked_s : one.durable_s;
    values.push_back(one.payload_bytes / seconds / kMegabyte);
  }
  return values;
}

json metrics_json(const Case& bench_case,
                  const std::vector<TrialResult>& samples,
                  const std::vector<TrialResult>& alone) {
  json metrics = json::object();
  if (bench_case.readers > 0) {
    metrics["restart_mb_s"] = summary_json(bandwidths(bench_case, samples));
    return metrics;
  }
  add_times(metrics, bench_case, samples);
  add_costs(metrics, bench_case, samples);
  add_inflation(metrics, samples, alone);
  return metrics;
}

std::optional<std::string> best_of(const Case& bench_case,
                                   const Samples& samples,
                                   std::string_view family) {
  std::optional<std::string> best;
  double most = 0;
  for (const std::string& name : samples.names(bench_case.id)) {
    if (name != family && family_of(name) != family) continue;
    const double median =
        summarize(bandwidths(bench_case, samples.get(bench_case.id, name))).median;
    if (best && median <= most) continue;
    best = name;
    most = median;
  }
  return best;
}

std::optional<ResultRow> row_of_case(const Case& bench_case, const Samples& samples) {
  const bool computes = bench_case.compute_kind != ComputeKind::kNone;
  const auto& alone = samples.get(bench_case.id, kComputeOnly);
  const char* const unit = computes ? "1" : kBandwidthUnit;
  std::optional<ResultRow> row;
  std::vector<Peer> all;
  for (const std::string& name : samples.names(bench_case.id)) {
    const auto& own = samples.get(bench_case.id, name);
    if (computes && own.size() != alone.size()) continue;
    const Summary measured =
        summarize(computes ? durable_over_alone(own, alone) : bandwidths(bench_case, own));
    all.push_back({name, unit, measured});
    if (name == kFio || (row && !is_better(bench_case, measured, row->measured))) continue;
    row = ResultRow{bench_case.id, unit, measured, {}, {}};
  }
  if (row) row->peers = std::move(all);
  return row;
}

tl::expected<ResultRow, std::string> compare(const GoalRow& row, const Samples& samples) {
  using Failure = tl::unexpected<std::string>;
  std::optional<ResultRow> worst;
  std::optional<Peer> worst_automatic;
  for (const Case& bench_case : row.cases) {
    if (samples.names(bench_case.id).empty()) return Failure(bench_case.id + " was not measured");
    const auto ours = best_of(bench_case, samples, kForebayFamily);
    if (!ours)
      return Failure("no candidate named " + std::string(kForebayFamily) + " in " + bench_case.id);
    const auto theirs = best_of(bench_case, samples, row.baseline);
    if (!theirs) return Failure("no candidate named " + row.baseline + " in " + bench_case.id);
    update_worst_automatic(bench_case, samples, *theirs, worst_automatic);
    const Summary ratio = ratio_in(bench_case, samples, *ours, *theirs);
    if (worst && ratio.median >= worst->measured.median) continue;
    worst = ResultRow{row.id, "1", ratio, Goal{row.goal, Better::kHigher}, {}};
    for (const std::string& name : {*ours, *theirs}) {
      const Summary measured = summarize(bandwidths(bench_case, samples.get(bench_case.id, name)));
      worst->peers.push_back({name + " in " + bench_case.id, kBandwidthUnit, measured});
    }
  }
  if (!worst) return Failure("no case compares them");
  if (worst_automatic) worst->peers.push_back(*worst_automatic);
  return *worst;
}

}  // namespace forebay::bench::checkpoint
