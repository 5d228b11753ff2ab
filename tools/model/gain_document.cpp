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

/// Who answers: formulas, or runs with jitter where there is some.
class Answers {
 public:
  static Result<Answers> to(const GainQuestion& question) {
    if (auto good = check(question.pipeline); !good) return failure(good.error());
    Answers answers;
    const model::Jitter& jitter = question.jitter;
    if (jitter.write == 0 && jitter.compute == 0) return answers;
    auto runs = model::JitteredRuns::draw(question.pipeline.count, jitter);
    if (!runs) return failure(runs.error());
    answers.runs_.emplace(std::move(*runs));
    return answers;
  }

  // Pipelines that are asked for differ from one that is good in buffers, devices and the ratio
  // of their times, so that there is an answer.
  OverlapSpread of(const Pipeline& pipeline) const {
    return runs_ ? runs_->play(pipeline).value() : model::without_spread(*overlap(pipeline));
  }
  PipelineAdvice advise(const Pipeline& pipeline) const {
    return runs_ ? runs_->advise(pipeline).value() : model::advise(pipeline).value();
  }

  /// How many runs an answer is the mean of; none if it is exact.
  std::optional<std::uint64_t> runs() const {
    return runs_ ? std::optional(runs_->runs()) : std::nullopt;
  }

 private:
  std::optional<model::JitteredRuns> runs_;
};

json told(const model::Spread& spread) {
  return {{"mean", spread.mean}, {"low", spread.low}, {"high", spread.high}};
}

json told_buffers(std::uint64_t buffers) {
  return buffers == kUnlimitedBuffers ? json(nullptr) : json(buffers);
}

Pipeline with_buffers(Pipeline pipeline, std::uint64_t buffers) {
  pipeline.buffers = buffers;
  return pipeline;
}

json answer_of(const Answers& answers, const Pipeline& pipeline) {
  const OverlapSpread run = answers.of(pipeline);
  return {{"buffers", told_buffers(pipeline.buffers)},
          {"synchronous_s", told(run.synchronous_s)},
          {"total_s", told(run.total_s)},
          {"computing_s", told(run.computing_s)},
          {"waiting_s", told(run.waiting_s)},
          {"draining_s", told(run.draining_s)},
          {"gain", told(run.gain)}};
}

json jitter_of(const model::Jitter& jitter, std::optional<std::uint64_t> runs) {
  if (!runs) return nullptr;
  return {{"write", jitter.write},
          {"compute", jitter.compute},
          {"distribution", "lognormal"},
          {"seed", jitter.seed},
          {"runs", *runs}};
}

json best_of(const Answers& answers, const Pipeline& pipeline) {
  const PipelineAdvice advice = answers.advise(pipeline);
  Pipeline wide = with_buffers(pipeline, advice.devices_buffers);
  wide.devices = advice.devices;
  return {{"buffers", advice.buffers},
          {"gain", told(answers.of(with_buffers(pipeline, advice.buffers)).gain)},
          {"devices", advice.devices},
          {"devices_buffers", advice.devices_buffers},
          {"devices_gain", told(answers.of(wide).gain)}};
}

/// These and the one that was asked for, ascending.
BufferCounts counts_with(BufferCounts counts, std::uint64_t asked) {
  counts.push_back(asked);
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

json by_buffers(const Answers& answers, const Pipeline& pipeline) {
  json rows = json::array();
  for (const std::uint64_t buffers :
       counts_with({1, 2, 3, 4, 8, kUnlimitedBuffers}, pipeline.buffers)) {
    rows.push_back(answer_of(answers, with_buffers(pipeline, buffers)));
  }
  return rows;
}

constexpr double kRatioLow = 0.03;
constexpr double kRatioHigh = 30;
constexpr int kSteps = 90;
/// With jitter, of runs so long that each point takes a tenth of a second.
constexpr int kStepsOfLongRuns = 30;
constexpr std::uint64_t kLongRun = 20'000;
constexpr std::uint64_t kBendsMax = 33;  // below is nothing of the axis
/// A ratio of the question so far outside of the range widens it; one beyond is left out.
constexpr double kWidened = 30;

/// Where on the axis of C / W a curve has points: evenly, where it may bend, and at the question.
std::vector<double> ratios_of(const Pipeline& asked, int steps) {
  std::vector<double> ratios;
  for (int step = 0; step <= steps; ++step)
    ratios.push_back(kRatioLow *
                     std::pow(kRatioHigh / kRatioLow, step / static_cast<double>(steps)));
  const std::uint64_t bends = std::min(asked.devices, kBendsMax);
  for (std::uint64_t hidden = 1; hidden <= bends; ++hidden)
    ratios.push_back(1 / static_cast<double>(hidden));
  const double ratio = asked.compute_s / asked.write_s;
  if (ratio >= kRatioLow / kWidened && ratio <= kRatioHigh * kWidened) ratios.push_back(ratio);
  std::ranges::sort(ratios);
  return ratios;
}

/// The gain does not depend on the unit of time, so that W is 1.
json points_of(const Answers& answers, Pipeline pipeline, const std::vector<double>& ratios) {
  json points = json::array();
  pipeline.write_s = 1;
  for (const double ratio : ratios) {
    pipeline.compute_s = ratio;
    points.push_back({{"ratio", ratio}, {"gain", told(answers.of(pipeline).gain)}});
  }
  return points;
}

json curves_of(const Answers& answers, const Pipeline& pipeline) {
  const bool takes_long = answers.runs() && pipeline.count > kLongRun;
  const auto ratios = ratios_of(pipeline, takes_long ? kStepsOfLongRuns : kSteps);
  json curves = json::array();
  for (const std::uint64_t buffers : counts_with({1, 2, 4, kUnlimitedBuffers}, pipeline.buffers)) {
    curves.push_back({{"buffers", told_buffers(buffers)},
                      {"points", points_of(answers, with_buffers(pipeline, buffers), ratios)}});
  }
  return curves;
}

}  // namespace

Result<json> describe_gain(const GainQuestion& question) {
  const auto answers = Answers::to(question);
  if (!answers) return failure(answers.error());
  const Pipeline& pipeline = question.pipeline;
  json document = {{"compute_s", pipeline.compute_s},
                   {"write_s", pipeline.write_s},
                   {"count", pipeline.count},
                   {"buffers", told_buffers(pipeline.buffers)},
                   {"devices", pipeline.devices},
                   {"jitter", jitter_of(question.jitter, answers->runs())},
                   {"bound", gain_bound(pipeline).value()},
                   {"asked", answer_of(*answers, pipeline)},
                   {"by_buffers", by_buffers(*answers, pipeline)},
                   {"best", best_of(*answers, pipeline)}};
  if (question.curves == Curves::kTell) document["curves"] = curves_of(*answers, pipeline);
  return document;
}

}  // namespace forebay::model_tool
