// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/gain.hpp"

#include <algorithm>
#include <functional>

#include "bench/frame/clock.hpp"
#include "bench/frame/cores.hpp"
#include "bench/frame/statistics.hpp"
#include "model/gain.hpp"

namespace forebay::bench::engine {

void GainRounds::forget_first() {
  for (auto& [way, times] : times_)
    times.erase(times.begin());
}

double GainRounds::compute_s(std::size_t round) const {
  return times_.at(kSynchronous).at(round).compute_s / static_cast<double>(count_);
}

double GainRounds::write_s(std::size_t round) const {
  const LoopTimes& times = times_.at(kSynchronous).at(round);
  return (times.total_s - times.compute_s) / static_cast<double>(count_);
}

double GainRounds::model_s(std::size_t round) const {
  const model::Pipeline pipeline{
      .compute_s = compute_s(round), .write_s = write_s(round), .count = count_, .buffers = 2};
  const auto overlapped = model::overlap(pipeline);
  return overlapped ? overlapped->total_s : 0;
}

namespace {

/// One number for each round.
Summary of_rounds(std::size_t rounds, const std::function<double(std::size_t)>& value) {
  std::vector<double> values;
  for (std::size_t i = 0; i < rounds; ++i)
    values.push_back(value(i));
  return summarise(values);
}

}  // namespace

Summary GainRounds::efficiency(const std::string& way) const {
  const std::vector<LoopTimes>& times = times_.at(way);
  return of_rounds(times.size(), [&](std::size_t i) { return model_s(i) / times[i].total_s; });
}

Summary GainRounds::over_synchronous(const std::string& way) const {
  const std::vector<LoopTimes>& times = times_.at(way);
  const std::vector<LoopTimes>& alone = times_.at(kSynchronous);
  return of_rounds(times.size(),
                   [&](std::size_t i) { return times[i].total_s / alone[i].total_s; });
}

Summary GainRounds::compute_over_synchronous(const std::string& way) const {
  const std::vector<LoopTimes>& times = times_.at(way);
  const std::vector<LoopTimes>& alone = times_.at(kSynchronous);
  return of_rounds(times.size(),
                   [&](std::size_t i) { return times[i].compute_s / alone[i].compute_s; });
}

double GainRounds::ratio() const {
  return of_rounds(times_.at(kSynchronous).size(),
                   [&](std::size_t i) { return compute_s(i) / write_s(i); })
      .median;
}

double GainRounds::model_gain() const {
  const std::vector<LoopTimes>& alone = times_.at(kSynchronous);
  return of_rounds(alone.size(), [&](std::size_t i) { return alone[i].total_s / model_s(i); })
      .median;
}

Result<double> write_seconds(Place& place, std::uint64_t buffer_bytes) {
  constexpr std::uint64_t kCount = 16;
  constexpr int kTimes = 3;
  const auto paths = place.files(kCount * buffer_bytes);
  if (!paths) return failure(paths.error());
  const Loop loop{.paths = {paths->front()},
                  .access = place.access(),
                  .buffer_bytes = buffer_bytes,
                  .count = kCount,
                  .computation = Computation::lasting(0)};
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    const auto took = run_synchronously(loop);
    if (!took) return failure(took.error());
    times.push_back(took->total_s / static_cast<double>(kCount));
  }
  return summarise(times).median;
}

Result<GainRounds> run_gain(
    Context& context, Runtime& runtime, Place& place, double write_s, const GainOptions& options) {
  const auto paths = place.files(options.count * options.buffer_bytes);
  if (!paths) return failure(paths.error());
  // The computation has a core; what is started from here on inherits it, threads of a Runtime
  // that was made before do not.
  const auto here = OnCore::take(usable_cores().front());
  if (!here) return failure(here.error());
  const Loop loop{.paths = {paths->front()},
                  .access = place.access(),
                  .buffer_bytes = options.buffer_bytes,
                  .count = options.count,
                  .computation = Computation::lasting(options.ratio * write_s)};
  GainRounds found;
  found.set_count(options.count);
  const auto variant = [&](const char* name, std::function<Result<LoopTimes>()> run) {
    return Variant{name, {}, [&found, name, run = std::move(run)]() -> Result<double> {
                     const auto times = run();
                     if (!times) return failure(times.error());
                     found.add(name, *times);
                     return times->total_s;
                   }};
  };
  std::vector<Variant> variants{variant(kSynchronous, [&] { return run_synchronously(loop); }),
                                variant(kForebay, [&] { return run_with_forebay(runtime, loop); })};
  if (options.ways == Ways::kAll) {
    variants.push_back(variant(kAio, [&] { return run_with_aio(loop); }));
    variants.push_back(variant(kThread, [&] { return run_with_thread(loop); }));
  }
  const auto rounds = context.run(options.id, options.rounds, variants);
  if (!rounds) return failure(rounds.error());
  found.forget_first();
  return found;
}

}  // namespace forebay::bench::engine
