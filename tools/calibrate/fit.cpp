// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/fit.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace forebay::calibrate {

namespace {

constexpr double kMicroseconds = 1e6;
constexpr double kMegabyte = 1e6;
/// A link is a limit if all servers together give less than this part of what each gives alone.
constexpr double kLinkLimitsBelow = 0.9;

/// The point with the most requests a second.
const LoadPoint& best_of(const std::vector<LoadPoint>& points) {
  return *std::max_element(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return a.requests_per_second.median < b.requests_per_second.median;
  });
}

/// What a Load says of a server.
struct Fitted {
  double latency_us = 0;
  double bandwidth_mb_per_s = 0;
  std::uint32_t concurrency = 1;
  std::string latency_source;
  std::string bandwidth_source;
  std::string concurrency_source;
};

/// To the tenth: more digits would say more than was measured.
double rounded(double value) { return std::round(value * 10) / 10; }

Fitted fit_load(const Load& load, const char* verb) {
  Fitted fitted;
  const LoadPoint& alone = load.small.front();
  const LoadPoint& most = best_of(load.small);
  const LoadPoint& large = best_of(load.large);
  const double bytes_per_second =
      large.requests_per_second.median * static_cast<double>(load.large_bytes);
  const double answer_s = 1 / alone.requests_per_second.median;
  const double transfer_s = static_cast<double>(load.small_bytes) / bytes_per_second;
  fitted.latency_us = rounded(std::max(0.0, answer_s - transfer_s) * kMicroseconds);
  fitted.bandwidth_mb_per_s = rounded(bytes_per_second / kMegabyte);
  fitted.concurrency = static_cast<std::uint32_t>(
      std::max(1.0, std::round(most.requests_per_second.median * answer_s)));
  fitted.latency_source = fmt::format(
      "measured: {} of {} bytes one after the other, {:.1f} us ({:.1f} to {:.1f}), less transfer",
      verb, load.small_bytes, answer_s * kMicroseconds,
      kMicroseconds / alone.requests_per_second.high,
      kMicroseconds / alone.requests_per_second.low);
  fitted.bandwidth_source =
      fmt::format("measured: {} of {} bytes, {} at once", verb, load.large_bytes, large.depth);
  fitted.concurrency_source = fmt::format(
      "measured: {:.0f} {} of {} bytes a second with {} at once, times {:.1f} us for one alone",
      most.requests_per_second.median, verb, load.small_bytes, most.depth,
      answer_s * kMicroseconds);
  return fitted;
}

void fit_servers(model::Machine& machine, const Observations& seen) {
  const Fitted read = fit_load(seen.read, "reads");
  const Fitted write = fit_load(seen.write, "writes");
  machine.servers = {{.count = seen.server_count,
                      .latency_us = read.latency_us,
                      .concurrency = read.concurrency,
                      .bandwidth_mb_per_s = read.bandwidth_mb_per_s,
                      .latency_overlaps = true,
                      .write_latency_us = write.latency_us,
                      .write_bandwidth_mb_per_s = write.bandwidth_mb_per_s}};
  machine.sources["servers.count"] =
      seen.stripe_bytes > 0 ? "the layout of a new file" : "not known: one, as a client sees it";
  machine.sources["servers.latency_us"] = read.latency_source;
  machine.sources["servers.bandwidth_mb_per_s"] = read.bandwidth_source;
  machine.sources["servers.concurrency"] = read.concurrency_source;
  machine.sources["servers.latency_overlaps"] = "not measured: it does on most";
  machine.sources["servers.write_latency_us"] = write.latency_source;
  machine.sources["servers.write_bandwidth_mb_per_s"] = write.bandwidth_source;
}

void fit_client(model::Machine& machine, const Observations& seen) {
  machine.client.read_ahead_bytes = seen.read_ahead_bytes;
  machine.sources["client"] = "one client was there to measure";
  machine.sources["client.read_ahead_bytes"] = "the system's setting for this storage";
  if (!seen.bytes_per_second_of_all) return;
  const double all = seen.bytes_per_second_of_all->median / kMegabyte;
  const model::ServerGroup& server = machine.servers.front();
  if (all >= kLinkLimitsBelow * server.bandwidth_mb_per_s * server.count) return;
  machine.client.link_bandwidth_mb_per_s = rounded(all);
  machine.sources["client.link_bandwidth_mb_per_s"] =
      "measured: reads from all servers at once, which give more one by one";
}

void fit_names(model::Machine& machine, const NameTimes& names) {
  machine.metadata.create_us = rounded(names.create.median * kMicroseconds);
  machine.metadata.open_us = rounded(names.open.median * kMicroseconds);
  machine.metadata.stat_us = rounded(names.stat.median * kMicroseconds);
  machine.metadata.unlink_us = rounded(names.unlink.median * kMicroseconds);
  machine.sources["metadata"] = "measured: one operation after the other, in one folder";
  machine.sources["metadata.servers"] = "not measured: one";
  machine.sources["metadata.concurrency"] = "not measured: one at a time";
}

}  // namespace

Measured summarise(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {.median = values[values.size() / 2], .low = values.front(), .high = values.back()};
}

model::Machine fit(const Observations& seen) {
  model::Machine machine;
  machine.name = seen.name;
  machine.about = seen.about;
  if (seen.stripe_bytes > 0) machine.layout.stripe_bytes = seen.stripe_bytes;
  machine.sources["layout"] =
      seen.stripe_bytes > 0 ? "the layout of a new file" : "not known: the default";
  fit_servers(machine, seen);
  fit_client(machine, seen);
  fit_names(machine, seen.names);
  machine.sources["locks"] = "not measured: none";
  return machine;
}

}  // namespace forebay::calibrate
