// SPDX-License-Identifier: Apache-2.0
// How much longer an application takes that checkpoints than one that does not, when storage needs
// a given share of the time that it computes: 2 ranks, no core to spare.
#include <algorithm>

#include "bench/checkpoint/cases.hpp"
#include "bench/checkpoint/everybody.hpp"
#include "bench/checkpoint/own_rows.hpp"
#include "bench/frame/rounds.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr std::uint32_t kRanksThatOverlap = 2;
constexpr const char* kChosen = "forebay:chosen";
constexpr const char* kGiven = "forebay:file-per-process,adopt";

/// Of all ranks together.
constexpr ByEffort<std::uint64_t> kStepBytes = {.quick = 4_MiB, .usual = 128_MiB, .full = 512_MiB};

struct Load {
  const char* id;
  double drain_share;  ///< what storage needs for a step, of the computation between two
  double goal;
};

constexpr Load kLoads[] = {{"ckpt.overlap", 0.3, 1.10}, {"ckpt.overlap.heavy", 0.9, 1.25}};

/// An application: what it computes, and who checkpoints it.
struct Kind {
  const char* name;
  Computing computing;
  const char* contender;
};

constexpr Kind kKinds[] = {{"cpu", Computing::kProcessor, kChosen},
                           {"cpu, buffers given away", Computing::kProcessor, kGiven},
                           {"memory", Computing::kMemory, kChosen}};

std::uint32_t index_of(const std::string& name) {
  const auto& all = all_contenders();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one->name() == name; });
  return found == all.end() ? kNobody : static_cast<std::uint32_t>(found - all.begin());
}

Order order_of(Context& context) {
  Order order;
  order.task = Task::kWrite;
  order.contender = index_of(kChosen);
  order.writers = kRanksThatOverlap;
  order.steps = kSteps;
  order.step_bytes = context.choose(kStepBytes);
  order.set_folder(context.folder() / "overlap");
  return order;
}

/// What storage needs for a step when nobody computes.
Result<double> drain_seconds(const Order& order) {
  return everybody().order(order).map(
      [](const Measured& one) { return one.durable_s / static_cast<double>(kSteps); });
}

struct Ratios {
  std::vector<double> total;    ///< until the application has ended, over computing alone
  std::vector<double> durable;  ///< until the last step is on storage
};

/// With checkpoints and without, next to each other.
Status run_pair(const Order& with, std::size_t round, Ratios& ratios) {
  Order alone = with;
  alone.contender = kNobody;
  const Order* const orders[] = {&with, &alone};
  Measured measured[2];
  for (const std::size_t which : order_of_round(round, 2)) {
    const auto one = everybody().order(*orders[which]);
    if (!one) return failure(one.error());
    measured[which] = *one;
  }
  ratios.total.push_back(measured[0].total_s / measured[1].total_s);
  ratios.durable.push_back(measured[0].durable_s / measured[1].total_s);
  return {};
}

struct Found {
  Ratios ratios[std::size(kKinds)];
  std::vector<double> drain_s;
};

/// The amount of work follows from what storage needed a moment ago.
Status run_round(const Load& load, const Order& order, std::size_t round, Found& found) {
  const auto drain_s = drain_seconds(order);
  if (!drain_s) return failure(drain_s.error());
  found.drain_s.push_back(*drain_s);
  for (std::size_t kind = 0; kind < std::size(kKinds); ++kind) {
    Order mine = order;
    mine.contender = index_of(kKinds[kind].contender);
    mine.application.computing = kKinds[kind].computing;
    mine.application.units =
        Computation(kKinds[kind].computing).units_in(*drain_s / load.drain_share);
    if (auto done = run_pair(mine, round, found.ratios[kind]); !done) return done;
  }
  return {};
}

Status bench_load(Context& context, const Load& load) {
  if (!context.wants(load.id)) return {};
  if (everybody().size() < kRanksThatOverlap) {
    context.leave_out(load.id, "there is one rank only");
    return {};
  }
  const Order order = order_of(context);
  Found found;
  for (std::size_t round = 0; round <= kOwnRounds; ++round) {
    if (round == 1) found = Found();  // what was before was the warm-up
    if (auto done = run_round(load, order, round, found); !done) return done;
    context.report({round + 1, kOwnRounds + 1, "rounds", load.id});
  }
  ResultRow row{load.id, "1", summarise(found.ratios[0].total), Goal{load.goal}, {}};
  row.peers.push_back({"until durable", "1", summarise(found.ratios[0].durable)});
  for (std::size_t kind = 1; kind < std::size(kKinds); ++kind)
    row.peers.push_back({kKinds[kind].name, "1", summarise(found.ratios[kind].total)});
  row.peers.push_back({"drain of a step", "s", summarise(found.drain_s)});
  context.add(std::move(row));
  return {};
}

}  // namespace

Status bench_overlap(Context& context) {
  for (const Load& load : kLoads)
    if (auto done = bench_load(context, load); !done) return done;
  return {};
}

}  // namespace forebay::bench::checkpoint
