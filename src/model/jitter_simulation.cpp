// SPDX-License-Identifier: Apache-2.0
#include "model/jitter_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <utility>

#include "model/pipeline_advice.hpp"

namespace forebay::model {

namespace {

constexpr std::uint64_t kRunsMin = 20;
constexpr std::uint64_t kRunsMax = 200;
/// Of all runs together, so that a simulation takes a fraction of a second.
constexpr std::uint64_t kBuffersMax = 2'000'000;
constexpr double kLow = 0.05;
constexpr double kHigh = 0.95;

tl::unexpected<Error> jitter_failure(ErrorClass kind, std::string cause) {
  return failure(
      {.kind = kind, .operation = "simulate runs with jitter", .cause = std::move(cause)});
}

Status check_jitter(double jitter, const std::string& name) {
  if (jitter >= 0 && jitter <= kJitterMax) return {};
  return jitter_failure(ErrorClass::kInvalidArgument,
                        "the jitter of " + name + " is " + std::to_string(jitter) +
                            "; give 0 to 3, its standard deviation / its mean");
}

/// Factors with mean 1. Writes and computations have separate sequences, so the jitter of one does
/// not change the draws of the other.
class RandomFactors {
 public:
  RandomFactors(double jitter, std::uint64_t seed, std::uint32_t sequence) : varies_(jitter > 0) {
    std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U),
                        sequence};
    random_.seed(words);
    if (!varies_) return;
    const double variance = std::log1p(jitter * jitter);
    using Parameters = std::lognormal_distribution<double>::param_type;
    distribution_.param(Parameters(-variance / 2, std::sqrt(variance)));
  }

  double next() { return varies_ ? distribution_(random_) : 1; }

 private:
  bool varies_;
  std::mt19937_64 random_;
  std::lognormal_distribution<double> distribution_;
};

/// `numbers` in any order; reorders them.
Spread spread_of(std::vector<double>& numbers) {
  std::ranges::sort(numbers);
  const auto last = static_cast<double>(numbers.size() - 1);
  const auto at = [&](double share) {
    return numbers[static_cast<std::size_t>(std::lround(share * last))];
  };
  double sum = 0;
  for (const double one : numbers)
    sum += one;
  return {.mean = sum / (last + 1), .low = at(kLow), .high = at(kHigh)};
}

template <class Number>
Spread spread_over(const std::vector<Overlap>& runs, const Number& number_of) {
  std::vector<double> numbers;
  numbers.reserve(runs.size());
  for (const Overlap& run : runs)
    numbers.push_back(number_of(run));
  return spread_of(numbers);
}

}  // namespace

OverlapSpread zero_spread(const Overlap& run) {
  const auto same = [](double number) { return Spread{number, number, number}; };
  return {.synchronous_s = same(run.synchronous_s),
          .total_s = same(run.total_s),
          .computing_s = same(run.computing_s),
          .waiting_s = same(run.waiting_s),
          .draining_s = same(run.draining_s),
          .gain = same(run.gain())};
}

Result<JitterSimulation> JitterSimulation::create(std::uint64_t count, const Jitter& jitter) {
  if (auto good = check_jitter(jitter.write, "writing"); !good) {
    return failure(good.error());
  }
  if (auto good = check_jitter(jitter.compute, "computing"); !good) {
    return failure(good.error());
  }
  if (count == 0 || count > kSimulatedCountMax) {
    return jitter_failure(ErrorClass::kLimit, "runs of " + std::to_string(count) +
                                                  " buffers cannot be simulated; give 1 to " +
                                                  std::to_string(kSimulatedCountMax));
  }
  RandomFactors computing(jitter.compute, jitter.seed, 0);
  RandomFactors writing(jitter.write, jitter.seed, 1);
  std::vector<Run> runs(std::clamp(kBuffersMax / count, kRunsMin, kRunsMax), Run(count));
  for (Run& run : runs) {
    for (BufferTimes& one : run)
      one = {.compute_s = computing.next(), .write_s = writing.next()};
  }
  return JitterSimulation(std::move(runs));
}

Status JitterSimulation::check(const Pipeline& pipeline) const {
  if (auto good = model::check(pipeline); !good) return good;
  if (pipeline.count == factors_.front().size()) return {};
  return jitter_failure(ErrorClass::kInvalidArgument,
                        "a pipeline of " + std::to_string(pipeline.count) +
                            " buffers has no draws of " + std::to_string(factors_.front().size()) +
                            "; draw for its count");
}

std::vector<Overlap> JitterSimulation::simulate_all(const Pipeline& pipeline) const {
  std::vector<Overlap> runs;
  runs.reserve(factors_.size());
  Run times(pipeline.count);
  for (const Run& factors : factors_) {
    std::ranges::transform(factors, times.begin(), [&](const BufferTimes& one) {
      return BufferTimes{.compute_s = one.compute_s * pipeline.compute_s,
                         .write_s = one.write_s * pipeline.write_s};
    });
    runs.push_back(model::simulate_pipeline(
        times, {.buffers = pipeline.buffers, .devices = pipeline.devices}));
  }
  return runs;
}

double JitterSimulation::mean_total_s(const Pipeline& pipeline) const {
  return spread_over(simulate_all(pipeline), [](const Overlap& run) { return run.total_s; }).mean;
}

Result<OverlapSpread> JitterSimulation::simulate(const Pipeline& pipeline) const {
  if (auto good = check(pipeline); !good) return failure(good.error());
  const std::vector<Overlap> runs = simulate_all(pipeline);
  const auto over_runs = [&runs](double Overlap::* number) {
    return spread_over(runs, [number](const Overlap& run) { return run.*number; });
  };
  return OverlapSpread{.synchronous_s = over_runs(&Overlap::synchronous_s),
                       .total_s = over_runs(&Overlap::total_s),
                       .computing_s = over_runs(&Overlap::computing_s),
                       .waiting_s = over_runs(&Overlap::waiting_s),
                       .draining_s = over_runs(&Overlap::draining_s),
                       .gain = spread_over(runs, [](const Overlap& run) { return run.gain(); })};
}

Result<PipelineAdvice> JitterSimulation::advise(const Pipeline& pipeline) const {
  if (auto good = check(pipeline); !good) return failure(good.error());
  return advise_with(pipeline, [this](const Pipeline& one) { return mean_total_s(one); });
}

}  // namespace forebay::model
