// SPDX-License-Identifier: Apache-2.0
// What put() and commit() cost the application, with nothing else to wait for.
#include <functional>

#include "bench/checkpoint/everybody.hpp"
#include "bench/checkpoint/own_rows.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr double kCallMicroseconds = 1e6;
constexpr double kMegabyte = 1e6;
constexpr std::uint32_t kStepsOfRun = 5;

/// A block of each rank.
constexpr ByEffort<std::uint64_t> kCallBytes = {.quick = 4_MiB, .usual = 64_MiB, .full = 64_MiB};

/// About what a step takes until it is durable. Copies one right after the other find caches,
/// tables of pages and processors warm, as nobody does between checkpoints.
constexpr double kRhythmSeconds = 0.1;

Variant variant_of(std::string name, Piece piece, std::uint32_t ranks, Context& context) {
  Order order;
  order.task = Task::kPiece;
  order.writers = ranks;
  order.step_bytes = context.choose(kCallBytes) * ranks;
  const double pause_s = piece == Piece::kAdopt ? 0 : kRhythmSeconds;
  order.piece = {.piece = piece, .steps = kStepsOfRun, .pause_s = pause_s};
  order.set_folder(context.folder() / "pieces");
  const auto measure = [order]() -> Result<double> {
    return everybody().order(order).map([](const Measured& one) { return one.blocked_s; });
  };
  return {std::move(name), nullptr, measure};
}

std::vector<double> each(std::vector<double> values, const std::function<double(double)>& change) {
  for (double& value : values)
    value = change(value);
  return values;
}

Status bench_adopt(Context& context) {
  const std::string id = "ckpt.perceived.adopt_us";
  if (!context.wants(id)) return {};
  if (everybody().size() < 2) {
    context.leave_out(id, "there is one rank only");
    return {};
  }
  const auto rounds = context.run(id, kOwnRounds,
                                  {variant_of("1 rank", Piece::kAdopt, 1, context),
                                   variant_of("2 ranks", Piece::kAdopt, 2, context)});
  if (!rounds) return failure(rounds.error());
  const auto to_us = [](double seconds) { return seconds * kCallMicroseconds; };
  const Summary one = summarise(each(rounds->values("1 rank"), to_us));
  const Summary two = summarise(each(rounds->values("2 ranks"), to_us));
  context.add({.id = id,
               .unit = "us",
               .measured = one.median > two.median ? one : two,
               .goal = Goal{20, Better::kLower},
               .peers = {{"1 rank", "us", one}, {"2 ranks", "us", two}}});
  return {};
}

Status bench_over_memcpy(Context& context) {
  const std::string id = "ckpt.perceived.over_memcpy";
  if (!context.wants(id)) return {};
  const auto rounds =
      context.run(id, kOwnRounds,
                  {variant_of("memcpy", Piece::kMemoryCopy, 1, context),
                   variant_of("agent hashes", Piece::kPut, 1, context),
                   variant_of("hashing on the copy", Piece::kHashingPut, 1, context)});
  if (!rounds) return failure(rounds.error());
  const auto bytes = static_cast<double>(context.choose(kCallBytes));
  const auto to_mb_s = [bytes](double seconds) { return bytes / seconds / kMegabyte; };
  const auto rate = [&](const char* name) {
    return Peer{name, "MB/s", summarise(each(rounds->values(name), to_mb_s))};
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

std::vector<std::string> own_ids() {
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
