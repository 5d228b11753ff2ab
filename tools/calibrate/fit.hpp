// SPDX-License-Identifier: Apache-2.0
// Converts observations of a storage to the machine file that describes it. Pure arithmetic, so it
// is tested with storages of known numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/machine.hpp"

namespace forebay::calibrate {

/// Repeated measurements of a number: median, smallest and largest value.
struct SampleSummary {
  double median = 0;
  double low = 0;
  double high = 0;
};

SampleSummary summarize(std::vector<double> values);

/// Closed loop: requests of one size at a fixed depth; each completion starts the next request.
struct LoadPoint {
  std::uint32_t depth = 0;
  SampleSummary requests_per_second;
};

/// Reads or writes on one server.
struct LoadCurve {
  std::uint64_t small_bytes = 0;
  std::vector<LoadPoint> small;  ///< by depth, from 1
  std::uint64_t large_bytes = 0;
  std::vector<LoadPoint> large;
};

/// Seconds of one metadata operation.
struct MetadataTimes {
  SampleSummary create;
  SampleSummary open;
  SampleSummary stat;
  SampleSummary unlink;
};

/// Seconds of a sync of the file after it was written, and of a directory with a new name.
struct SyncTimes {
  SampleSummary clean;  ///< nothing was written
  std::uint64_t small_bytes = 0;
  SampleSummary small;
  std::uint64_t large_bytes = 0;
  SampleSummary large;
  SampleSummary directory;
};

struct Observations {
  std::string name;  ///< of the machine
  std::string about;
  std::uint64_t stripe_bytes = 0;  ///< of the file that was read; 0: unknown
  std::uint32_t server_count = 1;  ///< over which the file is striped
  LoadCurve read;
  LoadCurve write;
  std::optional<SampleSummary> aggregate_bytes_per_second;  ///< concurrent reads from all servers
  MetadataTimes metadata;
  SyncTimes sync;
  std::uint64_t read_ahead_bytes = 0;
};

/// Returns the machine (docs/formats/machine.md) that would have given these observations. Each of
/// its numbers has a source.
///
/// Latency is the time of one small request less the transfer time of its bytes. Bandwidth is what
/// large requests reach at any depth. Concurrency follows from Little's law: the most small
/// requests a second times the time of one. A commit takes the time of a sync after a small write
/// past the page cache.
model::Machine fit(const Observations& observations);

}  // namespace forebay::calibrate
