// SPDX-License-Identifier: Apache-2.0
// Overlap compared with its model: computing and writing in each ratio, on devices of a fixed rate
// and on the local disk. Also through the page cache, where writing needs a processor as well.
#include <algorithm>
#include <array>
#include <optional>

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
  const std::uint64_t usual = target.access() == Access::kBuffered ? 32 : 16;
  return ratio > 5 ? usual / 2 : usual;
}

/// All ratios on one target.
class Series {
 public:
  Series(Context& context, Runtime& runtime, WriteTarget& target, std::string id)
      : context_(context), runtime_(runtime), target_(target), id_(std::move(id)) {}

  Status run(std::span<const double> ratios, WriteMethods methods) {
    const auto write_s = write_seconds(target_, 16_MiB);
    if (!write_s) return failure(write_s.error());
    for (const double ratio : ratios) {
      auto rounds = run_gain(context_, runtime_, target_, *write_s,
                             {.id = id_ + ", C/W " + fmt::format("{}", ratio),
                              .ratio = ratio,
                              .count = count_of(context_, target_, ratio),
                              .rounds = context_.choose(5U, 2U),
                              .methods = methods});
      if (!rounds) return failure(rounds.error());
      rounds_.emplace_back(ratio, std::move(*rounds));
    }
    return {};
  }

  const GainRounds* at(double ratio) const {
    const auto it = std::ranges::find(rounds_, ratio, &std::pair<double, GainRounds>::first);
    return it == rounds_.end() ? nullptr : &it->second;
  }

  using Measure = Summary (GainRounds::*)(const std::string&) const;

  /// The summary of the worst ratio.
  Summary worst(Measure measure, const std::string& method, Better better) const {
    std::optional<Summary> worst;
    for (const auto& [ratio, rounds] : rounds_) {
      const Summary one = (rounds.*measure)(method);
      const bool worse = worst && (better == Better::kHigher ? one.median < worst->median
                                                             : one.median > worst->median);
      if (!worst || worse) worst = one;
    }
    return *worst;
  }

  void add_peers(ResultRow& row, Measure measure) const {
    for (const auto& [ratio, rounds] : rounds_) {
      for (const char* const method : {kForebay, kAio, kThread, kSynchronous}) {
        if (!rounds.has(method)) continue;
        row.peers.push_back({fmt::format("{}, C/W {}: {}", target_.name(), ratio, method), "1",
                             (rounds.*measure)(method)});
      }
    }
  }

  /// For a figure: measured values, and those of the model.
  nlohmann::json curve() const {
    nlohmann::json points = nlohmann::json::array();
    for (const auto& [ratio, rounds] : rounds_) {
      const Summary inverse = rounds.over_synchronous(kForebay);
      points.push_back({{"ratio", rounds.ratio()},
                        {"gain", 1 / inverse.median},
                        {"gain_low", 1 / inverse.high},
                        {"gain_high", 1 / inverse.low},
                        {"model", rounds.model_gain()}});
    }
    return points;
  }

 private:
  Context& context_;
  Runtime& runtime_;
  WriteTarget& target_;
  std::string id_;
  std::vector<std::pair<double, GainRounds>> rounds_;
};

bool is_any_selected(Context& context, std::initializer_list<const char*> ids) {
  bool any = false;
  for (const char* const id : ids)
    any = context.is_selected(id) || any;
  return any;
}

void add_gain_row(Context& context, const std::string& id, const Series& series, double goal) {
  ResultRow row{.id = id,
                .unit = "1",
                .measured = series.worst(&GainRounds::efficiency, kForebay, Better::kHigher),
                .goal = Goal{goal, Better::kHigher}};
  series.add_peers(row, &GainRounds::efficiency);
  context.add(std::move(row));
}

void add_inflation_row(Context& context, const std::string& id, const Series& series, double goal) {
  const GainRounds& rounds = *series.at(kEqual);
  ResultRow row{.id = id,
                .unit = "1",
                .measured = rounds.compute_over_synchronous(kForebay),
                .goal = Goal{goal}};
  for (const char* const method : {kAio, kThread}) {
    if (rounds.has(method))
      row.peers.push_back({method, "1", rounds.compute_over_synchronous(method)});
  }
  context.add(std::move(row));
}

/// Speedup over the synchronous loop at C = W.
void add_speedup_row(Context& context, const Series& series) {
  const auto speedup = [&](const char* method) {
    Summary one = series.at(kEqual)->over_synchronous(method);
    one.median = 1 / one.median;
    one.low = 1 / std::exchange(one.high, 1 / one.low);
    return one;
  };
  context.add({.id = "engine.speedup",
               .unit = "1",
               .measured = speedup(kForebay),
               .goal = Goal{1.85, Better::kHigher},
               .peers = {{kAio, "1", speedup(kAio)}, {kThread, "1", speedup(kThread)}}});
}

void add_fixed_rows(Context& context, const Series& fixed, const Series& disk) {
  if (context.is_selected("engine.gain.fixed")) {
    ResultRow row{.id = "engine.gain.fixed",
                  .unit = "1",
                  .measured = fixed.worst(&GainRounds::efficiency, kForebay, Better::kHigher),
                  .goal = Goal{0.97, Better::kHigher}};
    fixed.add_peers(row, &GainRounds::efficiency);
    disk.add_peers(row, &GainRounds::efficiency);
    context.add(std::move(row));
  }
  if (context.is_selected("engine.speedup")) add_speedup_row(context, fixed);
  if (context.is_selected("engine.slowdown_max")) {
    ResultRow row{.id = "engine.slowdown_max",
                  .unit = "1",
                  .measured = fixed.worst(&GainRounds::over_synchronous, kForebay, Better::kLower),
                  .goal = Goal{1.03}};
    fixed.add_peers(row, &GainRounds::over_synchronous);
    context.add(std::move(row));
  }
  if (context.is_selected("engine.compute_inflation")) {
    add_inflation_row(context, "engine.compute_inflation", fixed, 1.03);
  }
}

}  // namespace

Status bench_gain_fixed(Context& context) {
  const auto ids = {"engine.gain.fixed", "engine.speedup", "engine.slowdown_max",
                    "engine.compute_inflation"};
  if (!is_any_selected(context, ids)) return {};
  if (const std::string why = fixed_rate_unavailable_reason(); !why.empty()) {
    for (const char* const id : ids) {
      if (context.is_selected(id)) context.skip(id, why);
    }
    return {};
  }
  Runtime runtime;
  const auto target = WriteTarget::with_fixed_rate(context, 1, kRate);
  if (!target) return failure(target.error());
  const auto disk = WriteTarget::local(context, Access::kDirect);
  Series on_fixed(context, runtime, **target, "engine.gain.fixed");
  if (auto done = on_fixed.run(kRatios, WriteMethods::kAll); !done) return done;
  Series on_disk(context, runtime, *disk, "engine.gain.fixed, local disk");
  if (auto done = on_disk.run(kRatios, WriteMethods::kBasic); !done) return done;
  add_fixed_rows(context, on_fixed, on_disk);
  return {};
}

Status bench_gain_buffered(Context& context) {
  const std::string gain = "engine.gain.buffered";
  const std::string inflation = "engine.compute_inflation.buffered";
  if (!is_any_selected(context, {gain.c_str(), inflation.c_str()})) return {};
  Runtime runtime;
  const auto target = WriteTarget::local(context, Access::kBuffered);
  Series series(context, runtime, *target, gain);
  if (auto done = series.run(kRatios, WriteMethods::kAll); !done) return done;
  if (context.is_selected(gain)) add_gain_row(context, gain, series, 0.92);
  if (context.is_selected(inflation)) add_inflation_row(context, inflation, series, 1.10);
  return {};
}

Status bench_gain_curve(Context& context) {
  const std::string id = "engine.gain.curve";
  if (!context.is_selected(id)) return {};
  if (const std::string why = fixed_rate_unavailable_reason(); !why.empty()) {
    context.skip(id, why);
    return {};
  }
  constexpr std::array<double, 9> kCurve{0.03, 0.1, 0.3, 0.6, 1, 1.7, 3, 10, 30};
  Runtime runtime;
  const auto fixed = WriteTarget::with_fixed_rate(context, 1, kRate);
  if (!fixed) return failure(fixed.error());
  const auto disk = WriteTarget::local(context, Access::kDirect);
  nlohmann::json curves = nlohmann::json::object();
  ResultRow row{.id = id, .unit = "1"};
  for (WriteTarget* const target : {fixed->get(), disk.get()}) {
    Series series(context, runtime, *target, id + ", " + target->name());
    if (auto done = series.run(kCurve, WriteMethods::kBasic); !done) return done;
    curves[target->name()] = series.curve();
    const Summary worst = series.worst(&GainRounds::efficiency, kForebay, Better::kHigher);
    if (target == fixed->get()) row.measured = worst;
    row.peers.push_back({target->name(), "1", worst});
  }
  context.set_parameter(id, std::move(curves));
  context.add(std::move(row));
  return {};
}

}  // namespace forebay::bench::engine
