// SPDX-License-Identifier: Apache-2.0
// read.hosts.over_link and read.hosts.computing: ranks on one host read a file through the agent of
// another, over a link that is far slower than storage, and therefore determines the time. Bytes
// are all that the host received by its interfaces. The rows fail if a part of the file was read
// another way, or transferred twice. `forebay bench` starts this on two hosts that are network
// namespaces; the file is in the page cache.
#include <algorithm>
#include <map>
#include <utility>

#include "bench/read/rank_harness_instance.hpp"
#include "bench/read/rows.hpp"
#include "tools/probe/network.hpp"

namespace forebay::bench::read {

namespace {

constexpr unsigned kRounds = 5;
/// Headers, messages of MPI, and retransmissions. More means that bytes were read more than once.
constexpr double kOverheadMax = 1.05;

struct ReadMethod {
  const char* name;
  Kernel kernel;
};

constexpr ReadMethod kForebay{"forebay", Kernel::kLinkSession};
constexpr ReadMethod kComputing{"forebay, computing", Kernel::kLinkComputing};
constexpr std::array<ReadMethod, 5> kMethods{
    kForebay,
    kComputing,
    {"forebay, plan left open", Kernel::kLinkAutoPlan},
    {"MPI-IO collective, one aggregator", Kernel::kLinkMpiIo},
    {"pread and MPI send", Kernel::kLinkSend}};

/// The time of each measurement, and the time that the link needs for the received bytes.
class LinkTimes {
 public:
  explicit LinkTimes(double bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  /// The seconds of the slowest rank.
  Result<double> measure(const ReadMethod& method, const FilePartition& partition) {
    const auto measured = rank_harness().measure(Job::make(method.kernel, partition));
    if (!measured) return failure(measured.error());
    const double transferred_bytes = received_by_other_nodes(*measured);
    const auto file_bytes = static_cast<double>(partition.file_bytes);
    if (transferred_bytes < file_bytes || transferred_bytes > kOverheadMax * file_bytes) {
      return failure({.kind = ErrorClass::kDamage,
                      .operation = "read over the link",
                      .cause = std::to_string(transferred_bytes / file_bytes) +
                               " times the file's bytes were received"});
    }
    const double seconds =
        *std::max_element(measured->rank_results.begin(), measured->rank_results.end());
    ratios_[method.kernel].push_back(seconds * bytes_per_second_ / transferred_bytes);
    return seconds;
  }

  /// Time / time of the link, without the warm-up rounds.
  Summary over_link(const ReadMethod& method) const {
    const std::vector<double>& all = ratios_.at(method.kernel);
    return summarize({all.end() - kRounds, all.end()});
  }

 private:
  /// Ranks of one node count the same bytes: only its first rank is used.
  static double received_by_other_nodes(const JobResult& measured) {
    const comm::Nodes& nodes = rank_harness().ranks().nodes();
    double bytes = 0;
    for (std::uint32_t node = 1; node < nodes.count(); ++node)
      bytes += measured.received_bytes[nodes.leader_of({node}).number];
    return bytes;
  }

  double bytes_per_second_;
  std::map<Kernel, std::vector<double>> ratios_;
};

}  // namespace

std::string hosts_unavailable_reason() {
  if (rank_harness().ranks().nodes().count() != 2) return "ranks on two hosts are required";
  if (!probe::link_mbyte_per_second()) return "the bandwidth of the link is unknown";
  return {};
}

Status bench_hosts(Context& context) {
  const std::uint64_t file_bytes = context.choose<std::uint64_t>(256_MiB, 64_MiB);
  const FilePartition partition{
      .path = context.word_file(file_bytes).value(), .file_bytes = file_bytes, .task_count = 1};
  LinkTimes times(*probe::link_mbyte_per_second() * 1e6);
  std::vector<Variant> variants;
  std::vector<ComparedPeer> over_link;
  for (const ReadMethod& method : kMethods) {
    variants.push_back({method.name, warm(partition.path),
                        [&times, method, partition] { return times.measure(method, partition); }});
    if (method.kernel != kForebay.kernel)
      over_link.push_back({std::string(method.name) + " / the link", "1",
                           [&times, method](const Rounds&) { return times.over_link(method); }});
  }
  context.set_parameter("link_mbyte_per_second", *probe::link_mbyte_per_second());
  return context.compare(
      {.rows = {{"read.hosts.over_link",
                 [&times](const Rounds&) { return times.over_link(kForebay); }, Goal{1.1}},
                {"read.hosts.computing", ratio_of(kComputing.name, kForebay.name), Goal{1.1}}},
       .rounds = kRounds,
       .variants = variants,
       .peers = {{kComputing.name, kForebay.name}},
       .more_peers = over_link});
}

}  // namespace forebay::bench::read
