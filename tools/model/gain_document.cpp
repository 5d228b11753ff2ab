// SPDX-License-Identifier: Apache-2.0
#include "tools/model/gain_document.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace forebay::model_tool {

namespace {

using model::kUnlimitedBuffers;
using model::OverlapSpread;
using model::Pipeline;
using model::PipelineAdvice;
using nlohmann::json;
using BufferCounts = std::vector<std::uint64_t>;

/// Evaluates the query: by formulas, or by simulated runs if there is jitter.
class GainModel {
 public:
  static Result<GainModel> create(const GainQuery& query, const command::ProgressSink& progress) {
    if (auto good = check(query.pipeline); !good) return failure(good.error());
    GainModel gain_model;
    const model::Jitter& jitter = query.jitter;
    if (jitter.write == 0 && jitter.compute == 0) return gain_model;
    auto runs = model::JitterSimulation::create(query.pipeline.count, jitter);
    if (!runs) return failure(runs.error());
    gain_model.runs_.emplace(std::move(*runs));
    gain_model.progress_ = progress;
    return gain_model;
  }

  // The pipelines differ from a checked one only in buffers, devices and the ratio of their times,
  // so evaluation succeeds. After a cancellation it is by formulas, thus fast, and without meaning.
  OverlapSpread evaluate(const Pipeline& pipeline) {
    return begin_simulation() ? runs_->simulate(pipeline).value()
                              : model::zero_spread(*overlap(pipeline));
  }
  PipelineAdvice advise(const Pipeline& pipeline) {
    return begin_simulation() ? runs_->advise(pipeline).value() : model::advise(pipeline).value();
  }
  const Status& cancelled() const { return cancelled_; }

  /// The number of runs of which a result is the mean; none if it is exact.
  std::optional<std::uint64_t> runs() const {
    return runs_ ? std::optional(runs_->run_count()) : std::nullopt;
  }

 private:
  /// Reports one more evaluation. False if it is by formulas.
  bool begin_simulation() {
    if (runs_ && cancelled_)
      cancelled_ = report(progress_, {++done_, 0, "", "simulating runs"}, "compute gain");
    return runs_ && cancelled_;
  }

  std::optional<model::JitterSimulation> runs_;
  command::ProgressSink progress_;
  std::uint64_t done_ = 0;
  Status cancelled_;
};

json spread_json(const model::Spread& spread) {
  return {{"mean", spread.mean}, {"low", spread.low}, {"high", spread.high}};
}

json buffers_json(std::uint64_t buffers) {
  return buffers == kUnlimitedBuffers ? json(nullptr) : json(buffers);
}

Pipeline with_buffers(Pipeline pipeline, std::uint64_t buffers) {
  pipeline.buffers = buffers;
  return pipeline;
}

json result_json(GainModel& gain_model, const Pipeline& pipeline) {
  const OverlapSpread run = gain_model.evaluate(pipeline);
  return {{"buffers", buffers_json(pipeline.buffers)},
          {"synchronous_s", spread_json(run.synchronous_s)},
          {"total_s", spread_json(run.total_s)},
          {"computing_s", spread_json(run.computing_s)},
          {"waiting_s", spread_json(run.waiting_s)},
          {"draining_s", spread_json(run.draining_s)},
          {"gain", spread_json(run.gain)}};
}

json jitter_of(const model::Jitter& jitter, std::optional<std::uint64_t> runs) {
  if (!runs) return nullptr;
  return {{"write", jitter.write},
          {"compute", jitter.compute},
          {"distribution", "lognormal"},
          {"seed", jitter.seed},
          {"runs", *runs}};
}

json best_of(GainModel& gain_model, const Pipeline& pipeline) {
  const PipelineAdvice advice = gain_model.advise(pipeline);
  Pipeline wide = with_buffers(pipeline, advice.devices_buffers);
  wide.devices = advice.devices;
  return {{"buffers", advice.buffers},
          {"gain", spread_json(gain_model.evaluate(with_buffers(pipeline, advice.buffers)).gain)},
          {"devices", advice.devices},
          {"devices_buffers", advice.devices_buffers},
          {"devices_gain", spread_json(gain_model.evaluate(wide).gain)}};
}

/// `counts` with `requested`, ascending.
BufferCounts counts_with(BufferCounts counts, std::uint64_t requested) {
  counts.push_back(requested);
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

json by_buffers(GainModel& gain_model, const Pipeline& pipeline) {
  json rows = json::array();
  for (const std::uint64_t buffers :
       counts_with({1, 2, 3, 4, 8, kUnlimitedBuffers}, pipeline.buffers)) {
    rows.push_back(result_json(gain_model, with_buffers(pipeline, buffers)));
  }
  return rows;
}

constexpr double kRatioLow = 0.03;
constexpr double kRatioHigh = 30;
constexpr int kSteps = 90;
/// Points with jitter and long runs: each takes a tenth of a second.
constexpr int kStepsOfLongRuns = 30;
constexpr std::uint64_t kLongRun = 20'000;
constexpr std::uint64_t kKinksMax = 33;  // further kinks lie below the axis
/// The axis includes the query's ratio up to this factor beyond its range; otherwise that ratio is
/// left out.
constexpr double kAxisMargin = 30;

/// Points of a curve on the axis C / W: evenly spaced, at possible kinks, and at the query.
std::vector<double> ratios_of(const Pipeline& requested, int steps) {
  std::vector<double> ratios;
  for (int step = 0; step <= steps; ++step)
    ratios.push_back(kRatioLow *
                     std::pow(kRatioHigh / kRatioLow, step / static_cast<double>(steps)));
  const std::uint64_t kinks = std::min(requested.devices, kKinksMax);
  for (std::uint64_t hidden = 1; hidden <= kinks; ++hidden)
    ratios.push_back(1 / static_cast<double>(hidden));
  const double ratio = requested.compute_s / requested.write_s;
  if (ratio >= kRatioLow / kAxisMargin && ratio <= kRatioHigh * kAxisMargin)
    ratios.push_back(ratio);
  std::ranges::sort(ratios);
  return ratios;
}

/// The gain does not depend on the unit of time, so W is 1.
json points_of(GainModel& gain_model, Pipeline pipeline, const std::vector<double>& ratios) {
  json points = json::array();
  pipeline.write_s = 1;
  for (const double ratio : ratios) {
    pipeline.compute_s = ratio;
    points.push_back({{"ratio", ratio}, {"gain", spread_json(gain_model.evaluate(pipeline).gain)}});
  }
  return points;
}

json curves_of(GainModel& gain_model, const Pipeline& pipeline) {
  const bool is_long = gain_model.runs() && pipeline.count > kLongRun;
  const auto ratios = ratios_of(pipeline, is_long ? kStepsOfLongRuns : kSteps);
  json curves = json::array();
  for (const std::uint64_t buffers : counts_with({1, 2, 4, kUnlimitedBuffers}, pipeline.buffers)) {
    curves.push_back({{"buffers", buffers_json(buffers)},
                      {"points", points_of(gain_model, with_buffers(pipeline, buffers), ratios)}});
  }
  return curves;
}

}  // namespace

Result<json> describe_gain(const GainQuery& query, const command::ProgressSink& progress) {
  auto gain_model = GainModel::create(query, progress);
  if (!gain_model) return failure(gain_model.error());
  const Pipeline& pipeline = query.pipeline;
  json document = {{"compute_s", pipeline.compute_s},
                   {"write_s", pipeline.write_s},
                   {"count", pipeline.count},
                   {"buffers", buffers_json(pipeline.buffers)},
                   {"devices", pipeline.devices},
                   {"jitter", jitter_of(query.jitter, gain_model->runs())},
                   {"bound", gain_bound(pipeline).value()},
                   {"requested", result_json(*gain_model, pipeline)},
                   {"by_buffers", by_buffers(*gain_model, pipeline)},
                   {"best", best_of(*gain_model, pipeline)}};
  if (query.curves == Curves::kInclude) document["curves"] = curves_of(*gain_model, pipeline);
  if (!gain_model->cancelled()) return failure(gain_model->cancelled().error());
  return document;
}

}  // namespace forebay::model_tool
