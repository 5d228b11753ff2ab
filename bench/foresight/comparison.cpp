// SPDX-License-Identifier: Apache-2.0
#include "bench/foresight/comparison.hpp"

#include <fcntl.h>

#include "tools/probe/page_cache.hpp"

namespace forebay::bench::foresight {

namespace fs = std::filesystem;

namespace {

const std::map<std::string, int> kAdvice = {{"today", POSIX_FADV_NORMAL},
                                            {"SEQUENTIAL", POSIX_FADV_SEQUENTIAL},
                                            {"RANDOM", POSIX_FADV_RANDOM},
                                            {"WILLNEED", POSIX_FADV_WILLNEED}};

Result<double> time_without_session(const std::string& way, const Case& one) {
  double total_s = 0;
  for (const Replay& replay : one.replays) {
    const auto seconds = way == "ideal" ? time_ideal(replay) : time_plain(replay, kAdvice.at(way));
    if (!seconds) return seconds;
    total_s += *seconds;
  }
  return total_s;
}

void add(PrefetchReport& total, const PrefetchReport& report) {
  for (const auto member :
       {&PrefetchReport::hits, &PrefetchReport::late, &PrefetchReport::misses,
        &PrefetchReport::early, &PrefetchReport::bytes_pushed, &PrefetchReport::bytes_wasted})
    total.*member += report.*member;
}

}  // namespace

Result<std::unique_ptr<Replayer>> Replayer::make(Context& context, const std::string& machine) {
  auto mounted =
      emufs::EmufsMount::make(context.directory(), {.machine = machine, .arguments = {}});
  if (!mounted) return failure(mounted.error());
  return std::unique_ptr<Replayer>(new Replayer(context, std::move(*mounted)));
}

Result<double> Replayer::time_sessions(const Case& one) {
  double total_s = 0;
  double bytes = 0;
  PrefetchReport counts;
  for (const Replay& replay : one.replays) {
    SessionReport report;
    const auto seconds = time_session(runtime_, replay, report);
    if (!seconds) return seconds;
    total_s += *seconds;
    bytes += static_cast<double>(report.bytes_served);
    add(counts, report.prefetch);
  }
  wasted_[one.name].push_back(static_cast<double>(counts.bytes_wasted) / bytes);
  context_.set_parameter(one.name, {{"hits", counts.hits},
                                    {"late", counts.late},
                                    {"misses", counts.misses},
                                    {"early", counts.early},
                                    {"bytes_pushed", counts.bytes_pushed},
                                    {"bytes_wasted", counts.bytes_wasted}});
  return total_s;
}

Variant Replayer::variant(const std::string& way, const Case& one) {
  return {way,
          [&one] {
            Status dropped;
            for (std::size_t i = 0; dropped && i < one.replays.size(); ++i)
              dropped = probe::drop_cached(one.replays[i].path);
            return dropped;
          },
          [this, way, &one] {
            return way == "forebay" ? time_sessions(one) : time_without_session(way, one);
          }};
}

Status Replayer::add_peers(const Comparison& comparison,
                           const Case& one,
                           const Rounds& rounds,
                           ResultRow& row) {
  for (const std::string way : {"forebay", "today", "SEQUENTIAL", "RANDOM", "WILLNEED", "ideal"}) {
    const bool is_compared = way == comparison.over || way == comparison.under;
    if (is_compared) row.peers.push_back({one.name + ", " + way, "s", rounds.summary(way)});
    if (is_compared || comparison.peers == Peers::kNone || context_.quick()) continue;
    const auto once = run_rounds({variant(way, one)}, {.rounds = 1, .warm_ups = 0});
    if (!once) return failure(once.error());
    row.peers.push_back({one.name + ", " + way, "s", once->summary(way)});
  }
  return {};
}

Result<ResultRow> Replayer::compare(const Comparison& comparison, const std::vector<Case>& cases) {
  constexpr unsigned kRounds = 5;
  ResultRow row{comparison.id, "1", {}, comparison.goal, {}};
  wasted_.clear();
  for (const Case& one : cases) {
    const auto rounds = context_.run(
        comparison.id, kRounds, {variant(comparison.over, one), variant(comparison.under, one)});
    if (!rounds) return failure(rounds.error());
    if (auto done = add_peers(comparison, one, *rounds, row); !done) return failure(done.error());
    const Summary ratio = rounds->ratio(comparison.over, comparison.under);
    const bool is_lower = ratio.median < row.measured.median;
    const bool is_worse = is_lower == (comparison.goal.better == Better::kHigher);
    if (row.measured.runs == 0 || is_worse) row.measured = ratio;
  }
  return row;
}

}  // namespace forebay::bench::foresight
