// SPDX-License-Identifier: Apache-2.0
// read.hosts.over_link and read.hosts.computing: ranks on one host read a file through the agent of
// another, over a link that is far slower than storage, and so the only thing that may take time.
// Bytes are those that came to the host by its interfaces, all of them; that no part of the file
// came another way, or twice, is checked. `forebay bench` starts this on two hosts that are network
// namespaces; the file is in the page cache.
#include <algorithm>
#include <map>
#include <utility>

#include "bench/read/rows.hpp"
#include "bench/read/the_crew.hpp"
#include "tools/probe/network.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

namespace {

constexpr unsigned kRounds = 5;
/// Headers, what MPI says, and what is sent again; anything more is no reading of each byte once.
constexpr double kMoreThanTheFile = 1.05;

struct Way {
  const char* name;
  Work work;
};

constexpr Way kForebay{"forebay", Work::kLinkSession};
constexpr Way kComputing{"forebay, computing", Work::kLinkComputing};
constexpr std::array<Way, 5> kWays{kForebay,
                                   kComputing,
                                   {"forebay, plan left open", Work::kLinkAsPlanned},
                                   {"MPI-IO collective, one aggregator", Work::kLinkMpiIo},
                                   {"pread and MPI send", Work::kLinkSend}};

/// Each measurement's time, and how long the link took for what came over it.
class LinkTimes {
 public:
  explicit LinkTimes(double bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  /// The seconds of the slowest rank.
  Result<double> measure(const Way& way, const Cut& cut) {
    const auto measured = the_crew().measure(Job::of(way.work, cut));
    if (!measured) return failure(measured.error());
    const double came_bytes = came_to_others(*measured);
    const auto file_bytes = static_cast<double>(cut.file_bytes);
    if (came_bytes < file_bytes || came_bytes > kMoreThanTheFile * file_bytes) {
      return failure(
          {.kind = ErrorClass::kDamage,
           .operation = "read over the link",
           .cause = std::to_string(came_bytes / file_bytes) + " times the file came over it"});
    }
    const double seconds = *std::max_element(measured->found.begin(), measured->found.end());
    ratios_[way.work].push_back(seconds * bytes_per_second_ / came_bytes);
    return seconds;
  }

  /// Time over that of the link, without the warm-up rounds.
  Summary over_link(const Way& way) const {
    const std::vector<double>& all = ratios_.at(way.work);
    return summarise({all.end() - kRounds, all.end()});
  }

 private:
  /// Ranks of one node count the same bytes: its first speaks for all.
  static double came_to_others(const Measured& measured) {
    const comm::Nodes& nodes = the_crew().ranks().nodes();
    double bytes = 0;
    for (std::uint32_t node = 1; node < nodes.count(); ++node)
      bytes += measured.received_bytes[nodes.leader_of({node}).number];
    return bytes;
  }

  double bytes_per_second_;
  std::map<Work, std::vector<double>> ratios_;
};

/// Why the rows cannot be had here, if so.
std::string missing() {
  if (the_crew().ranks().nodes().count() != 2) return "it takes ranks on two hosts";
  if (!probe::link_mbyte_per_second()) return "nobody says how fast the link is";
  return {};
}

void add_rows(Context& context, const Rounds& rounds, const LinkTimes& times) {
  std::vector<Peer> peers;
  for (const Way& way : kWays) {
    if (way.work != kForebay.work) peers.push_back({way.name, "1", times.over_link(way)});
  }
  context.add({.id = "read.hosts.over_link",
               .unit = "1",
               .measured = times.over_link(kForebay),
               .goal = Goal{1.1},
               .peers = std::move(peers)});
  context.add({.id = "read.hosts.computing",
               .unit = "1",
               .measured = rounds.ratio(kComputing.name, kForebay.name),
               .goal = Goal{1.1},
               .peers = {{kComputing.name, "s", rounds.summary(kComputing.name)},
                         {kForebay.name, "s", rounds.summary(kForebay.name)}}});
}

}  // namespace

Status bench_hosts(Context& context) {
  std::vector<std::string> wanted;
  for (const std::string id : {"read.hosts.over_link", "read.hosts.computing"}) {
    if (context.wants(id)) wanted.push_back(id);
  }
  if (const std::string why = missing(); !why.empty()) {
    for (const std::string& id : wanted)
      context.leave_out(id, why);
    return {};
  }
  if (wanted.empty()) return {};
  const std::uint64_t file_bytes = context.choose<std::uint64_t>(256_MiB, 64_MiB);
  const auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  const Cut cut{.path = *path, .file_bytes = file_bytes, .task_count = 1};
  LinkTimes times(*probe::link_mbyte_per_second() * 1e6);
  std::vector<Variant> variants;
  for (const Way& way : kWays) {
    variants.push_back({way.name, [cut] { return probe::warm(cut.path); },
                        [&times, way, cut] { return times.measure(way, cut); }});
  }
  context.set_parameter("link_mbyte_per_second", *probe::link_mbyte_per_second());
  const auto rounds = context.run("read.hosts", kRounds, variants);
  if (!rounds) return failure(rounds.error());
  add_rows(context, *rounds, times);
  return {};
}

}  // namespace forebay::bench::read
