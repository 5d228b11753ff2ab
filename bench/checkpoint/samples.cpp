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

using Metric = std::function<double(const Measured&)>;

json summary_json(const std::vector<double>& values) {
  const Summary summary = summarise(values);
  return {{"value", summary.median}, {"spread", {summary.low, summary.high}}};
}

json of_each(const std::vector<Measured>& samples, const Metric& metric) {
  std::vector<double> values;
  std::transform(samples.begin(), samples.end(), std::back_inserter(values), metric);
  return summary_json(values);
}

/// The times that a writing case has, and what they mean.
void add_times(json& metrics, const Case& in, const std::vector<Measured>& samples) {
  const double steps = in.steps;
  metrics["perceived_mb_s"] = of_each(
      samples, [](const Measured& one) { return one.payload_bytes / one.blocked_s / kMegabyte; });
  metrics["drain_s"] =
      of_each(samples, [](const Measured& one) { return one.durable_s - one.total_s; });
  metrics["overhead"] =
      of_each(samples, [](const Measured& one) { return one.blocked_s / one.total_s; });
  metrics["making_s"] = of_each(samples, [](const Measured& one) { return one.making_s; });
  if (in.computing != Computing::kNone) return;
  metrics["durable_mb_s"] = of_each(
      samples, [](const Measured& one) { return one.payload_bytes / one.durable_s / kMegabyte; });
  metrics["interval_s"] =
      of_each(samples, [steps](const Measured& one) { return one.durable_s / steps; });
}

void add_costs(json& metrics, const Case& in, const std::vector<Measured>& samples) {
  const double ranks = in.writers;
  metrics["memory_max_bytes"] =
      of_each(samples, [](const Measured& one) { return one.memory_max_bytes; });
  metrics["memory_sum_bytes"] =
      of_each(samples, [](const Measured& one) { return one.memory_sum_bytes; });
  metrics["staging_bytes"] =
      of_each(samples, [](const Measured& one) { return one.staging_bytes; });
  metrics["staging_over_plan"] =
      of_each(samples, [](const Measured& one) { return one.staging_over_plan; });
  metrics["files"] = of_each(samples, [](const Measured& one) { return one.files; });
  metrics["metadata_calls"] =
      of_each(samples, [](const Measured& one) { return one.metadata_calls; });
  metrics["ranks_given_up"] =
      of_each(samples, [ranks](const Measured& one) { return one.ranks_given_up / ranks; });
}

/// From the first step until all is on storage, over the computation without checkpoints in the
/// same round. As many samples of each.
std::vector<double> durable_over_alone(const std::vector<Measured>& samples,
                                       const std::vector<Measured>& alone) {
  std::vector<double> values;
  for (std::size_t round = 0; round < samples.size(); ++round)
    values.push_back(samples[round].durable_s / alone[round].total_s);
  return values;
}

/// By how much computing got longer, against the same without checkpoints in the same round.
void add_inflation(json& metrics,
                   const std::vector<Measured>& samples,
                   const std::vector<Measured>& alone) {
  if (alone.size() != samples.size() || alone.empty()) return;
  std::vector<double> computing;
  for (std::size_t round = 0; round < samples.size(); ++round)
    computing.push_back(samples[round].computing_s / alone[round].computing_s);
  metrics["computing_over_alone"] = summary_json(computing);
  metrics["durable_over_alone"] = summary_json(durable_over_alone(samples, alone));
}

/// Time is better where it is less, bandwidth where it is more.
bool is_better(const Case& in, const Summary& one, const Summary& other) {
  return in.computing == Computing::kNone ? one.median > other.median : one.median < other.median;
}

Summary ratio_in(const Case& in,
                 const Samples& samples,
                 const std::string& over,
                 const std::string& under) {
  return summarise(
      ratios(bandwidths(in, samples.of(in.id, over)), bandwidths(in, samples.of(in.id, under))));
}

/// The ratio of the plan that nobody chose by hand, where that is the worst so far: the best of
/// many ways is compared with the best of few, and this one is a single way.
void note_chosen(const Case& in,
                 const Samples& samples,
                 const std::string& theirs,
                 std::optional<Peer>& worst) {
  const std::string chosen(kChosenByPlan);
  if (samples.of(in.id, chosen).empty()) return;
  const Summary ratio = ratio_in(in, samples, chosen, theirs);
  if (!worst || ratio.median < worst->measured.median)
    worst = Peer{"ratio of " + chosen + " in " + in.id, "1", ratio};
}

}  // namespace

void Samples::add(const Case& in, const std::string& name, const Measured& measured) {
  cases_[in.id][name].push_back(measured);
}

void Samples::forget(const Case& in, const std::string& name) { cases_[in.id].erase(name); }

const std::vector<Measured>& Samples::of(const std::string& case_id, std::string_view name) const {
  static const std::vector<Measured> nothing;
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
    if (name != kComputingAlone) names.push_back(name);
  }
  return names;
}

std::vector<double> bandwidths(const Case& in, const std::vector<Measured>& samples) {
  std::vector<double> values;
  for (const Measured& one : samples) {
    const double seconds = in.readers > 0 ? one.blocked_s : one.durable_s;
    values.push_back(one.payload_bytes / seconds / kMegabyte);
  }
  return values;
}

json metrics_json(const Case& in,
                  const std::vector<Measured>& samples,
                  const std::vector<Measured>& alone) {
  json metrics = json::object();
  if (in.readers > 0) {
    metrics["restart_mb_s"] = summary_json(bandwidths(in, samples));
    return metrics;
  }
  add_times(metrics, in, samples);
  add_costs(metrics, in, samples);
  add_inflation(metrics, samples, alone);
  return metrics;
}

std::optional<std::string> best_of(const Case& in,
                                   const Samples& samples,
                                   std::string_view family) {
  std::optional<std::string> best;
  double most = 0;
  for (const std::string& name : samples.names(in.id)) {
    if (name != family && family_of(name) != family) continue;
    const double median = summarise(bandwidths(in, samples.of(in.id, name))).median;
    if (best && median <= most) continue;
    best = name;
    most = median;
  }
  return best;
}

std::optional<ResultRow> row_of_case(const Case& in, const Samples& samples) {
  const bool computes = in.computing != Computing::kNone;
  const auto& alone = samples.of(in.id, kComputingAlone);
  const char* const unit = computes ? "1" : kBandwidthUnit;
  std::optional<ResultRow> row;
  std::vector<Peer> all;
  for (const std::string& name : samples.names(in.id)) {
    const auto& own = samples.of(in.id, name);
    if (computes && own.size() != alone.size()) continue;
    const Summary measured =
        summarise(computes ? durable_over_alone(own, alone) : bandwidths(in, own));
    all.push_back({name, unit, measured});
    if (name == kFio || (row && !is_better(in, measured, row->measured))) continue;
    row = ResultRow{in.id, unit, measured, {}, {}};
  }
  if (row) row->peers = std::move(all);
  return row;
}

tl::expected<ResultRow, std::string> compare(const GoalRow& row, const Samples& samples) {
  using Failure = tl::unexpected<std::string>;
  std::optional<ResultRow> worst;
  std::optional<Peer> worst_of_chosen;
  for (const Case& in : row.cases) {
    if (samples.names(in.id).empty()) return Failure(in.id + " was not measured");
    const auto ours = best_of(in, samples, kOurs);
    if (!ours) return Failure("no contender named " + std::string(kOurs) + " in " + in.id);
    const auto theirs = best_of(in, samples, row.over);
    if (!theirs) return Failure("no contender named " + row.over + " in " + in.id);
    note_chosen(in, samples, *theirs, worst_of_chosen);
    const Summary ratio = ratio_in(in, samples, *ours, *theirs);
    if (worst && ratio.median >= worst->measured.median) continue;
    worst = ResultRow{row.id, "1", ratio, Goal{row.goal, Better::kHigher}, {}};
    for (const std::string& name : {*ours, *theirs}) {
      const Summary measured = summarise(bandwidths(in, samples.of(in.id, name)));
      worst->peers.push_back({name + " in " + in.id, kBandwidthUnit, measured});
    }
  }
  if (!worst) return Failure("there is no case to compare in");
  if (worst_of_chosen) worst->peers.push_back(*worst_of_chosen);
  return *worst;
}

}  // namespace forebay::bench::checkpoint
