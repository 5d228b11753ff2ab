// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/fit.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace forebay::calibrate {

namespace {

constexpr double kMicroseconds = 1e6;
constexpr double kMegabyte = 1e6;
/// The link limits if all servers together deliver less than this fraction of the sum of single
/// servers.
constexpr double kLinkLimitFraction = 0.9;

/// The point with the most requests a second.
const LoadPoint& best_of(const std::vector<LoadPoint>& points) {
  return *std::max_element(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return a.requests_per_second.median < b.requests_per_second.median;
  });
}

/// The server parameters that follow from a LoadCurve.
struct FittedServer {
  double latency_us = 0;
  double bandwidth_mb_per_s = 0;
  std::uint32_t concurrency = 1;
  std::string latency_source;
  std::string bandwidth_source;
  std::string concurrency_source;
};

/// Rounds to tenths, the precision of the measurement.
double rounded(double value) { return std::round(value * 10) / 10; }

FittedServer fit_load(const LoadCurve& load, const char* verb) {
  FittedServer fitted;
  const LoadPoint& single = load.small.front();
  const LoadPoint& best_small = best_of(load.small);
  const LoadPoint& large = best_of(load.large);
  const double bytes_per_second =
      large.requests_per_second.median * static_cast<double>(load.large_bytes);
  const double single_s = 1 / single.requests_per_second.median;
  const double transfer_s = static_cast<double>(load.small_bytes) / bytes_per_second;
  fitted.latency_us = rounded(std::max(0.0, single_s - transfer_s) * kMicroseconds);
  fitted.bandwidth_mb_per_s = rounded(bytes_per_second / kMegabyte);
  fitted.concurrency = static_cast<std::uint32_t>(
      std::max(1.0, std::round(best_small.requests_per_second.median * single_s)));
  fitted.latency_source = fmt::format(
      "measured: {} of {} bytes one at a time, {:.1f} us ({:.1f} to {:.1f}), less transfer", verb,
      load.small_bytes, single_s * kMicroseconds, kMicroseconds / single.requests_per_second.high,
      kMicroseconds / single.requests_per_second.low);
  fitted.bandwidth_source =
      fmt::format("measured: {} of {} bytes, {} in flight", verb, load.large_bytes, large.depth);
  fitted.concurrency_source = fmt::format(
      "measured: {:.0f} {} of {} bytes a second with {} in flight, times {:.1f} us for a single "
      "one",
      best_small.requests_per_second.median, verb, load.small_bytes, best_small.depth,
      single_s * kMicroseconds);
  return fitted;
}

void fit_servers(model::Machine& machine, const Observations& observations) {
  const FittedServer read = fit_load(observations.read, "reads");
  const FittedServer write = fit_load(observations.write, "writes");
  machine.servers = {{.count = observations.server_count,
                      .latency_us = read.latency_us,
                      .concurrency = read.concurrency,
                      .bandwidth_mb_per_s = read.bandwidth_mb_per_s,
                      .latency_overlaps = true,
                      .write_latency_us = write.latency_us,
                      .write_bandwidth_mb_per_s = write.bandwidth_mb_per_s}};
  machine.sources["servers.count"] = observations.stripe_bytes > 0
                                         ? "the layout of a new file"
                                         : "unknown: one, as a client sees it";
  machine.sources["servers.latency_us"] = read.latency_source;
  machine.sources["servers.bandwidth_mb_per_s"] = read.bandwidth_source;
  machine.sources["servers.concurrency"] = read.concurrency_source;
  machine.sources["servers.latency_overlaps"] = "not measured: true for most storage";
  machine.sources["servers.write_latency_us"] = write.latency_source;
  machine.sources["servers.write_bandwidth_mb_per_s"] = write.bandwidth_source;
}

void fit_client(model::Machine& machine, const Observations& observations) {
  machine.client.read_ahead_bytes = observations.read_ahead_bytes;
  machine.sources["client"] = "measured by one client";
  machine.sources["client.read_ahead_bytes"] = "the system's setting for this storage";
  if (!observations.aggregate_bytes_per_second) return;
  const double all = observations.aggregate_bytes_per_second->median / kMegabyte;
  const model::ServerGroup& server = machine.servers.front();
  if (all >= kLinkLimitFraction * server.bandwidth_mb_per_s * server.count) return;
  machine.client.link_bandwidth_mb_per_s = rounded(all);
  machine.sources["client.link_bandwidth_mb_per_s"] =
      "measured: concurrent reads from all servers, below the sum of single servers";
}

/// The written bytes are on the server before the sync, so its time is that of the commit.
void fit_syncs(model::Machine& machine, const SyncTimes& sync) {
  const auto us = [](double seconds) { return rounded(seconds * kMicroseconds); };
  machine.servers.front().sync_us = us(sync.small.median);
  machine.metadata.sync_us = us(sync.directory.median);
  machine.sources["servers.sync_us"] = fmt::format(
      "measured: fsync after {} bytes, {:.1f} to {:.1f} us; {:.1f} us after none, {:.1f} us after "
      "{} MiB",
      sync.small_bytes, us(sync.small.low), us(sync.small.high), us(sync.clean.median),
      us(sync.large.median), sync.large_bytes >> 20U);
  machine.sources["metadata.sync_us"] =
      fmt::format("measured: fsync of a directory with a new name, {:.1f} to {:.1f} us",
                  us(sync.directory.low), us(sync.directory.high));
}

void fit_metadata(model::Machine& machine, const MetadataTimes& metadata) {
  machine.metadata.create_us = rounded(metadata.create.median * kMicroseconds);
  machine.metadata.open_us = rounded(metadata.open.median * kMicroseconds);
  machine.metadata.stat_us = rounded(metadata.stat.median * kMicroseconds);
  machine.metadata.unlink_us = rounded(metadata.unlink.median * kMicroseconds);
  machine.sources["metadata"] = "measured: one operation at a time, in one directory";
  machine.sources["metadata.servers"] = "not measured: one";
  machine.sources["metadata.concurrency"] = "not measured: one at a time";
}

}  // namespace

SampleSummary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {.median = values[values.size() / 2], .low = values.front(), .high = values.back()};
}

model::Machine fit(const Observations& observations) {
  model::Machine machine;
  machine.name = observations.name;
  machine.about = observations.about;
  if (observations.stripe_bytes > 0) machine.layout.stripe_bytes = observations.stripe_bytes;
  machine.sources["layout"] =
      observations.stripe_bytes > 0 ? "the layout of a new file" : "unknown: the default";
  fit_servers(machine, observations);
  fit_client(machine, observations);
  fit_metadata(machine, observations.metadata);
  fit_syncs(machine, observations.sync);
  machine.sources["locks"] = "not measured: none";
  return machine;
}

}  // namespace forebay::calibrate
