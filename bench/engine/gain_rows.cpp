// SPDX-License-Identifier: Apache-2.0
// Overlap against its model: computing and writing in each ratio, on devices of a fixed rate, on
// the local disk, and through the page cache, where writing takes a processor as well.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "bench/engine/engine.hpp"
#include "bench/engine/gain.hpp"

namespace forebay::bench::engine {

namespace {

constexpr double kRate = 600e6;  // bytes a second: what two cores pass on with time to spare
constexpr std::array<double, 5> kRatios{0.1, 0.5, 1, 2, 10};
constexpr double kEqual = 1;

/// Loops that compute long have fewer buffers, so that each takes a second or two.
std::uint64_t count_of(Context& context, const Place& place, double ratio) {
  if (context.quick()) return 4;
  const std::uint64_t usual = place.access() == Access::kBuffered ? 32 : 16;
  return ratio > 5 ? usual / 2 : usual;
}

/// All ratios on one place.
class Series {
 public:
  Series(Context& context, Runtime& runtime, Place& place, std::string id)
      : context_(context), runtime_(runtime), place_(place), id_(std::move(id)) {}

  Status run(std::span<const double> ratios, Ways ways) {
    const auto write_s = write_seconds(place_, 16_MiB);
    if (!write_s) return failure(write_s.error());
    for (const double ratio : ratios) {
      auto rounds = run_gain(context_, runtime_, place_, *write_s,
                             {.id = id_ + ", C/W " + fmt::format("{}", ratio),
                              .ratio = ratio,
                              .count = count_of(context_, place_, ratio),
                              .rounds = context_.choose(5U, 2U),
                              .ways = ways});
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

  /// The worst ratio is what counts.
  Summary worst(Measure measure, const std::string& way, Better better) const {
    std::optional<Summary> worst;
    for (const auto& [ratio, rounds] : rounds_) {
      const Summary one = (rounds.*measure)(way);
      const bool worse = worst && (better == Better::kHigher ? one.median < worst->median
                                                             : one.median > worst->median);
      if (!worst || worse) worst = one;
    }
    return *worst;
  }

  void add_peers(ResultRow& row, Measure measure) const {
    for (const auto& [ratio, rounds] : rounds_) {
      for (const char* const way : {kForebay, kAio, kThread, kSynchronous}) {
        if (!rounds.has(way)) continue;
        row.peers.push_back({fmt::format("{}, C/W {}: {}", place_.name(), ratio, way), "1",
                             (rounds.*measure)(way)});
      }
    }
  }

  /// For a picture: what was measured and what the model says.
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
  Place& place_;
  std::string id_;
  std::vector<std::pair<double, GainRounds>> rounds_;
};

bool wants_any(Context& context, std::initializer_list<const char*> ids) {
  bool any = false;
  for (const char* const id : ids)
    any = context.wants(id) || any;
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
  for (const char* const way : {kAio, kThread}) {
    if (rounds.has(way)) row.peers.push_back({way, "1", rounds.compute_over_synchronous(way)});
  }
  context.add(std::move(row));
}

/// How many times as fast as the synchronous loop at C = W.
void add_speedup_row(Context& context, const Series& series) {
  const auto speedup = [&](const char* way) {
    Summary one = series.at(kEqual)->over_synchronous(way);
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
  if (context.wants("engine.gain.fixed")) {
    ResultRow row{.id = "engine.gain.fixed",
                  .unit = "1",
                  .measured = fixed.worst(&GainRounds::efficiency, kForebay, Better::kHigher),
                  .goal = Goal{0.97, Better::kHigher}};
    fixed.add_peers(row, &GainRounds::efficiency);
    disk.add_peers(row, &GainRounds::efficiency);
    context.add(std::move(row));
  }
  if (context.wants("engine.speedup")) add_speedup_row(context, fixed);
  if (context.wants("engine.slowdown_max")) {
    ResultRow row{.id = "engine.slowdown_max",
                  .unit = "1",
                  .measured = fixed.worst(&GainRounds::over_synchronous, kForebay, Better::kLower),
                  .goal = Goal{1.03}};
    fixed.add_peers(row, &GainRounds::over_synchronous);
    context.add(std::move(row));
  }
  if (context.wants("engine.compute_inflation")) {
    add_inflation_row(context, "engine.compute_inflation", fixed, 1.03);
  }
}

}  // namespace

Status bench_gain_fixed(Context& context) {
  const auto ids = {"engine.gain.fixed", "engine.speedup", "engine.slowdown_max",
                    "engine.compute_inflation"};
  if (!wants_any(context, ids)) return {};
  if (const std::string why = why_no_fixed_rate(); !why.empty()) {
    for (const char* const id : ids) {
      if (context.wants(id)) context.leave_out(id, why);
    }
    return {};
  }
  Runtime runtime;
  const auto place = Place::of_fixed_rate(context, 1, kRate);
  if (!place) return failure(place.error());
  const auto disk = Place::local(context, Access::kDirect);
  Series on_fixed(context, runtime, **place, "engine.gain.fixed");
  if (auto done = on_fixed.run(kRatios, Ways::kAll); !done) return done;
  Series on_disk(context, runtime, *disk, "engine.gain.fixed, local disk");
  if (auto done = on_disk.run(kRatios, Ways::kOurs); !done) return done;
  add_fixed_rows(context, on_fixed, on_disk);
  return {};
}

Status bench_gain_buffered(Context& context) {
  const std::string gain = "engine.gain.buffered";
  const std::string inflation = "engine.compute_inflation.buffered";
  if (!wants_any(context, {gain.c_str(), inflation.c_str()})) return {};
  Runtime runtime;
  const auto place = Place::local(context, Access::kBuffered);
  Series series(context, runtime, *place, gain);
  if (auto done = series.run(kRatios, Ways::kAll); !done) return done;
  if (context.wants(gain)) add_gain_row(context, gain, series, 0.92);
  if (context.wants(inflation)) add_inflation_row(context, inflation, series, 1.10);
  return {};
}

Status bench_gain_curve(Context& context) {
  const std::string id = "engine.gain.curve";
  if (!context.wants(id)) return {};
  if (const std::string why = why_no_fixed_rate(); !why.empty()) {
    context.leave_out(id, why);
    return {};
  }
  constexpr std::array<double, 9> kCurve{0.03, 0.1, 0.3, 0.6, 1, 1.7, 3, 10, 30};
  Runtime runtime;
  const auto fixed = Place::of_fixed_rate(context, 1, kRate);
  if (!fixed) return failure(fixed.error());
  const auto disk = Place::local(context, Access::kDirect);
  nlohmann::json curves = nlohmann::json::object();
  ResultRow row{.id = id, .unit = "1"};
  for (Place* const place : {fixed->get(), disk.get()}) {
    Series series(context, runtime, *place, id + ", " + place->name());
    if (auto done = series.run(kCurve, Ways::kOurs); !done) return done;
    curves[place->name()] = series.curve();
    const Summary worst = series.worst(&GainRounds::efficiency, kForebay, Better::kHigher);
    if (place == fixed->get()) row.measured = worst;
    row.peers.push_back({place->name(), "1", worst});
  }
  context.set_parameter(id, std::move(curves));
  context.add(std::move(row));
  return {};
}

}  // namespace forebay::bench::engine
