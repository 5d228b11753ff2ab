// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/gain.hpp"

#include <algorithm>
#include <functional>

#include "bench/frame/clock.hpp"
#include "bench/frame/cpu_affinity.hpp"
#include "bench/frame/statistics.hpp"
#include "model/gain.hpp"

namespace forebay::bench::engine {

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
Summary summarize_rounds(std::size_t rounds, const std::function<double(std::size_t)>& value) {
  std::vector<double> values;
  for (std::size_t i = 0; i < rounds; ++i)
    values.push_back(value(i));
  return summarize(values);
}

}  // namespace

Summary GainRounds::efficiency(const std::string& method) const {
  const std::vector<LoopTimes>& times = times_.at(method);
  return summarize_rounds(times.size(),
                          [&](std::size_t i) { return model_s(i) / times[i].total_s; });
}

Summary GainRounds::over_synchronous(const std::string& method, double LoopTimes::* time) const {
  const std::vector<LoopTimes>& times = times_.at(method);
  const std::vector<LoopTimes>& alone = times_.at(kSynchronous);
  return summarize_rounds(times.size(),
                          [&](std::size_t i) { return times[i].*time / alone[i].*time; });
}

double GainRounds::ratio() const {
  return summarize_rounds(times_.at(kSynchronous).size(),
                          [&](std::size_t i) { return compute_s(i) / write_s(i); })
      .median;
}

double GainRounds::model_gain() const {
  const std::vector<LoopTimes>& alone = times_.at(kSynchronous);
  return summarize_rounds(alone.size(),
                          [&](std::size_t i) { return alone[i].total_s / model_s(i); })
      .median;
}

double write_seconds(const WriteTarget& target, std::uint64_t buffer_bytes) {
  constexpr std::uint64_t kCount = 16;
  constexpr int kTimes = 3;
  const WriteLoop loop{.paths = {target.files(kCount * buffer_bytes).front()},
                       .access = target.access,
                       .buffer_bytes = buffer_bytes,
                       .count = kCount,
                       .computation = BufferComputation::with_duration(0)};
  std::vector<double> times(kTimes);
  std::ranges::generate(
      times, [&] { return run_synchronous(loop).total_s / static_cast<double>(kCount); });
  return summarize(times).median;
}

GainRounds run_gain(Context& context,
                    Runtime& runtime,
                    const WriteTarget& target,
                    double write_s,
                    const GainOptions& options) {
  const std::string path = target.files(options.count * options.buffer_bytes).front();
  // The computation is pinned to a core. Threads started from here on inherit it; threads of an
  // existing Runtime do not.
  const auto affinity = ScopedAffinity::pin(usable_cores().front()).value();
  const WriteLoop loop{.paths = {path},
                       .access = target.access,
                       .buffer_bytes = options.buffer_bytes,
                       .count = options.count,
                       .computation = BufferComputation::with_duration(options.ratio * write_s)};
  std::map<std::string, std::vector<LoopTimes>> found;
  const auto variant = [&](const char* name, std::function<LoopTimes()> run) {
    return Variant{name, {}, [&found, name, run = std::move(run)] {
                     return found[name].emplace_back(run()).total_s;
                   }};
  };
  std::vector<Variant> variants{variant(kSynchronous, [&] { return run_synchronous(loop); }),
                                variant(kForebay, [&] { return run_with_forebay(runtime, loop); })};
  if (options.methods == WriteMethods::kAll) {
    variants.push_back(variant(kAio, [&] { return run_with_aio(loop); }));
    variants.push_back(variant(kThread, [&] { return run_with_thread(loop); }));
  }
  context.run(options.id, options.rounds, variants).value();
  for (auto& [method, times] : found)
    times.erase(times.begin());  // of the warm-up round
  return {options.count, std::move(found)};
}

}  // namespace forebay::bench::engine
