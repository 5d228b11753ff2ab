// SPDX-License-Identifier: Apache-2.0
// Overlap compared with its model: computing and writing in each ratio, on devices of a fixed rate
// and on the local disk. Also through the page cache, where writing needs a processor as well.
#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include <fmt/format.h>

#include "bench/engine/engine.hpp"
#include "bench/engine/gain.hpp"

namespace forebay::bench::engine {

namespace {

constexpr double kRate = 600e6;  // bytes a second: within the capacity of two cores
constexpr std::array<double, 5> kRatios{0.1, 0.5, 1, 2, 10};
constexpr double kEqual = 1;

/// Loops with long computations have fewer buffers, so that each takes one or two seconds.
std::uint64_t count_of(Context& context, const WriteTarget& target, double ratio) {
  if (context.quick()) return 4;
  const std::uint64_t usual = target.access == Access::kBuffered ? 32 : 16;
  return ratio > 5 ? usual / 2 : usual;
}

/// All ratios on one target.
class Series {
 public:
  Series(Context& context,
         Runtime& runtime,
         const WriteTarget& target,
         const std::string& id,
         std::span<const double> ratios,
         WriteMethods methods)
      : name_(target.name) {
    const double write_s = write_seconds(target, 16_MiB);
    for (const double ratio : ratios) {
      rounds_.emplace_back(ratio, run_gain(context, runtime, target, write_s,
                                           {.id = fmt::format("{}, C/W {}", id, ratio),
                                            .ratio = ratio,
                                            .count = count_of(context, target, ratio),
                                            .rounds = context.choose(5U, 2U),
                                            .methods = methods}));
    }
  }

  const GainRounds& at(double ratio) const {
    return std::ranges::find(rounds_, ratio, &std::pair<double, GainRounds>::first)->second;
  }

  using Measure = std::function<Summary(const GainRounds&, const std::string& method)>;

  /// The summary of the worst ratio.
  Summary worst(const Measure& measure, Better better) const {
    std::vector<Summary> all;
    for (const auto& [ratio, rounds] : rounds_)
      all.push_back(measure(rounds, kForebay));
    return worst_of(all, better);
  }

  void add_peers(ResultRow& row, const Measure& measure) const {
    for (const auto& [ratio, rounds] : rounds_) {
      for (const char* const method : {kForebay, kAio, kThread, kSynchronous}) {
        if (!rounds.has(method)) continue;
        row.peers.push_back(
            {fmt::format("{}, C/W {}: {}", name_, ratio, method), "1", measure(rounds, method)});
      }
    }
  }

  /// For a figure: measured values, and those of the model.
  nlohmann::json curve() const {
    nlohmann::json points = nlohmann::json::array();
    for (const auto& [ratio, rounds] : rounds_) {
      const Summary inverse = rounds.over_synchronous(kForebay, &LoopTimes::total_s);
      points.push_back({{"ratio", rounds.ratio()},
                        {"gain", 1 / inverse.median},
                        {"gain_low", 1 / inverse.high},
                        {"gain_high", 1 / inverse.low},
                        {"model", rounds.model_gain()}});
    }
    return points;
  }

 private:
  std::string name_;
  std::vector<std::pair<double, GainRounds>> rounds_;
};

Summary total_over_synchronous(const GainRounds& rounds, const std::string& method) {
  return rounds.over_synchronous(method, &LoopTimes::total_s);
}

/// The row of the worst ratio, with all ratios of all series as peers. The value is that of the
/// first series.
void add_worst_row(Context& context,
                   const std::string& id,
                   const std::vector<const Series*>& series,
                   const Series::Measure& measure,
                   Goal goal) {
  if (!context.is_selected(id)) return;
  ResultRow row{id, "1", series.front()->worst(measure, goal.better), goal, {}};
  for (const Series* const one : series)
    one->add_peers(row, measure);
  context.add(std::move(row));
}

void add_inflation_row(Context& context, const std::string& id, const Series& series, double goal) {
  if (!context.is_selected(id)) return;
  const GainRounds& rounds = series.at(kEqual);
  const auto inflation = [&](const char* method) {
    return rounds.over_synchronous(method, &LoopTimes::compute_s);
  };
  context.add({id,
               "1",
               inflation(kForebay),
               Goal{goal},
               {{kAio, "1", inflation(kAio)}, {kThread, "1", inflation(kThread)}}});
}

/// Speedup over the synchronous loop at C = W.
void add_speedup_row(Context& context, const Series& series) {
  if (!context.is_selected("engine.speedup")) return;
  const auto speedup = [&](const char* method) {
    Summary one = total_over_synchronous(series.at(kEqual), method);
    one.median = 1 / one.median;
    one.low = 1 / std::exchange(one.high, 1 / one.low);
    return one;
  };
  context.add({"engine.speedup",
               "1",
               speedup(kForebay),
               Goal{1.85, Better::kHigher},
               {{kAio, "1", speedup(kAio)}, {kThread, "1", speedup(kThread)}}});
}

}  // namespace

Status bench_gain_fixed(Context& context) {
  Runtime runtime;
  const auto target = WriteTarget::with_fixed_rate(context, 1, kRate);
  const auto disk = WriteTarget::local(context, Access::kDirect);
  const Series fixed(context, runtime, target, "engine.gain.fixed", kRatios, WriteMethods::kAll);
  const Series local(context, runtime, disk, "engine.gain.fixed, local disk", kRatios,
                     WriteMethods::kBasic);
  add_worst_row(context, "engine.gain.fixed", {&fixed, &local}, &GainRounds::efficiency,
                {0.97, Better::kHigher});
  add_speedup_row(context, fixed);
  add_worst_row(context, "engine.slowdown_max", {&fixed}, total_over_synchronous, {1.03});
  add_inflation_row(context, "engine.compute_inflation", fixed, 1.03);
  return {};
}

Status bench_gain_buffered(Context& context) {
  Runtime runtime;
  const auto target = WriteTarget::local(context, Access::kBuffered);
  const Series series(context, runtime, target, "engine.gain.buffered", kRatios,
                      WriteMethods::kAll);
  add_worst_row(context, "engine.gain.buffered", {&series}, &GainRounds::efficiency,
                {0.92, Better::kHigher});
  add_inflation_row(context, "engine.compute_inflation.buffered", series, 1.10);
  return {};
}

Status bench_gain_curve(Context& context) {
  const std::string id = "engine.gain.curve";
  constexpr std::array<double, 9> kCurve{0.03, 0.1, 0.3, 0.6, 1, 1.7, 3, 10, 30};
  Runtime runtime;
  const auto fixed = WriteTarget::with_fixed_rate(context, 1, kRate);
  const auto disk = WriteTarget::local(context, Access::kDirect);
  nlohmann::json curves = nlohmann::json::object();
  ResultRow row{.id = id, .unit = "1"};
  for (const WriteTarget* const target : {&fixed, &disk}) {
    const Series series(context, runtime, *target, id + ", " + target->name, kCurve,
                        WriteMethods::kBasic);
    curves[target->name] = series.curve();
    row.peers.push_back(
        {target->name, "1", series.worst(&GainRounds::efficiency, Better::kHigher)});
  }
  row.measured = row.peers.front().measured;
  context.set_parameter(id, std::move(curves));
  context.add(std::move(row));
  return {};
}

}  // namespace forebay::bench::engine
