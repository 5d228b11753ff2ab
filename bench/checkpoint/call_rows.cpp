// SPDX-License-Identifier: Apache-2.0
// Cost of put() and commit() for the application, without other waits.
#include <functional>

#include "bench/checkpoint/forebay_rows.hpp"
#include "bench/checkpoint/trial_harness.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr double kCallMicroseconds = 1e6;
constexpr double kMegabyte = 1e6;
constexpr std::uint32_t kStepsOfRun = 5;

/// Bytes of each rank's block.
constexpr ByEffort<std::uint64_t> kCallBytes = {.quick = 4_MiB, .usual = 64_MiB, .full = 64_MiB};

/// Approximate time until a step is durable. Consecutive copies would find caches, page tables and
/// processors warm, unlike copies between checkpoints.
constexpr double kStepIntervalSeconds = 0.1;

Variant variant_of(std::string name, TimedCall call, std::uint32_t ranks, Context& context) {
  TrialRequest trial;
  trial.kind = TrialKind::kCall;
  trial.writers = ranks;
  trial.step_bytes = context.choose(kCallBytes) * ranks;
  const double pause_s = call == TimedCall::kAdopt ? 0 : kStepIntervalSeconds;
  trial.call = {.call = call, .steps = kStepsOfRun, .pause_s = pause_s};
  trial.set_directory(context.directory() / "pieces");
  const auto measure = [trial]() -> Result<double> {
    return trial_harness().run(trial).map([](const TrialResult& one) { return one.blocked_s; });
  };
  return {std::move(name), nullptr, measure};
}

std::vector<double> transform_values(std::vector<double> values,
                                     const std::function<double(double)>& change) {
  for (double& value : values)
    value = change(value);
  return values;
}

Status bench_adopt(Context& context) {
  const std::string id = "ckpt.perceived.adopt_us";
  if (!context.is_selected(id)) return {};
  if (trial_harness().size() < 2) {
    context.skip(id, "two ranks are required");
    return {};
  }
  const auto rounds = context.run(id, kForebayRounds,
                                  {variant_of("1 rank", TimedCall::kAdopt, 1, context),
                                   variant_of("2 ranks", TimedCall::kAdopt, 2, context)});
  if (!rounds) return failure(rounds.error());
  const auto to_us = [](double seconds) { return seconds * kCallMicroseconds; };
  const Summary one = summarize(transform_values(rounds->values("1 rank"), to_us));
  const Summary two = summarize(transform_values(rounds->values("2 ranks"), to_us));
  context.add({.id = id,
               .unit = "us",
               .measured = one.median > two.median ? one : two,
               .goal = Goal{20, Better::kLower},
               .peers = {{"1 rank", "us", one}, {"2 ranks", "us", two}}});
  return {};
}

Status bench_over_memcpy(Context& context) {
  const std::string id = "ckpt.perceived.over_memcpy";
  if (!context.is_selected(id)) return {};
  const auto rounds =
      context.run(id, kForebayRounds,
                  {variant_of("memcpy", TimedCall::kMemoryCopy, 1, context),
                   variant_of("agent hashes", TimedCall::kPut, 1, context),
                   variant_of("hashing on the copy", TimedCall::kHashingPut, 1, context)});
  if (!rounds) return failure(rounds.error());
  const auto bytes = static_cast<double>(context.choose(kCallBytes));
  const auto to_mb_s = [bytes](double seconds) { return bytes / seconds / kMegabyte; };
  const auto rate = [&](const char* name) {
    return Peer{name, "MB/s", summarize(transform_values(rounds->values(name), to_mb_s))};
  };
  context.add(
      {.id = id,
       .unit = "1",
       .measured = rounds->ratio("memcpy", "agent hashes"),
       .goal = Goal{0.9, Better::kHigher},
       .peers = {{"hashing on the copy", "1", rounds->ratio("memcpy", "hashing on the copy")},
                 rate("memcpy"),
                 rate("agent hashes")}});
  return {};
}

}  // namespace

std::vector<std::string> forebay_row_ids() {
  return {"ckpt.perceived.adopt_us",
          "ckpt.perceived.over_memcpy",
          "ckpt.open_us",
          "ckpt.overlap",
          "ckpt.overlap.heavy",
          "ckpt.memory_over_plan",
          "ckpt.brigade_memory",
          "ckpt.dedicated.over_in_rank"};
}

Status bench_calls(Context& context) {
  if (auto done = bench_adopt(context); !done) return done;
  return bench_over_memcpy(context);
}

}  // namespace forebay::bench::checkpoint
