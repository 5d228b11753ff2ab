// SPDX-License-Identifier: Apache-2.0
#include "bench/foresight/comparison.hpp"

#include <fcntl.h>

#include "tools/probe/page_cache.hpp"

namespace forebay::bench::foresight {

namespace {

const std::map<std::string, int> kAdvice = {{"today", POSIX_FADV_NORMAL},
                                            {"SEQUENTIAL", POSIX_FADV_SEQUENTIAL},
                                            {"RANDOM", POSIX_FADV_RANDOM},
                                            {"WILLNEED", POSIX_FADV_WILLNEED}};

double time_without_session(const std::string& way, const Case& one) {
  double total_s = 0;
  for (const Replay& replay : one.replays)
    total_s += (way == "ideal" ? time_ideal(replay) : time_plain(replay, kAdvice.at(way))).value();
  return total_s;
}

void add(PrefetchReport& total, const PrefetchReport& report) {
  for (const auto member :
       {&PrefetchReport::hits, &PrefetchReport::late, &PrefetchReport::misses,
        &PrefetchReport::early, &PrefetchReport::bytes_pushed, &PrefetchReport::bytes_wasted})
    total.*member += report.*member;
}

}  // namespace

double Replayer::time_sessions(const Case& one) {
  double total_s = 0;
  double bytes = 0;
  PrefetchReport counts;
  for (const Replay& replay : one.replays) {
    SessionReport report;
    total_s += time_session(runtime_, replay, report).value();
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
            for (const Replay& replay : one.replays)
              check(probe::drop_cached(replay.path));
            return Status();
          },
          [this, way, &one] {
            return way == "forebay" ? time_sessions(one) : time_without_session(way, one);
          }};
}

void Replayer::add_peers(const ReplayRow& row,
                         const Case& one,
                         const Rounds& rounds,
                         ResultRow& result) {
  for (const std::string way : {"forebay", "today", "SEQUENTIAL", "RANDOM", "WILLNEED", "ideal"}) {
    const bool is_compared = way == row.over || way == row.under;
    if (is_compared) result.peers.push_back({one.name + ", " + way, "s", rounds.summary(way)});
    if (is_compared || row.peers == Peers::kNone || context_.quick()) continue;
    const Rounds once = run_rounds({variant(way, one)}, {.rounds = 1, .warm_ups = 0}).value();
    result.peers.push_back({one.name + ", " + way, "s", once.summary(way)});
  }
}

ResultRow Replayer::compare(const ReplayRow& row, const std::vector<Case>& cases) {
  constexpr unsigned kRounds = 5;
  ResultRow result{row.id, "1", {}, row.goal, {}};
  std::vector<Summary> ratios;
  wasted_.clear();
  for (const Case& one : cases) {
    const Rounds rounds =
        context_.run(row.id, kRounds, {variant(row.over, one), variant(row.under, one)}).value();
    add_peers(row, one, rounds, result);
    ratios.push_back(rounds.ratio(row.over, row.under));
  }
  result.measured = worst_of(ratios, row.goal.better);
  return result;
}

}  // namespace forebay::bench::foresight
