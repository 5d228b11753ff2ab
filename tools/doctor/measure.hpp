// SPDX-License-Identifier: Apache-2.0
// Measures the storage of one directory within seconds: enough to decide whether Forebay helps
// there, without disturbing other users of the disk.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "storage/probe.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::doctor {

/// Bounds of the whole measurement.
struct MeasureLimits {
  std::uint64_t file_bytes_max = 256ULL << 20U;
  double seconds_max = 10;
  /// The backend of direct reads, as in a session.
  BackendChoice backend = BackendChoice::kAuto;
};

/// One number. `id` is stable: "write", "read.warm", "read.direct.16", "latency.4k".
struct Measurement {
  std::string id;
  std::string what;
  double value = 0;
  std::string unit;         ///< "B/s" or "s"
  double high = 0;          ///< of a latency: the 95th percentile; else 0
  std::uint64_t bytes = 0;  ///< transferred for the measurement
};

struct Measurements {
  std::vector<Measurement> values;
  std::uint64_t file_bytes = 0;
  std::string backend;       ///< of direct reads: "io_uring", "threads" or "aio"
  std::string not_measured;  ///< why direct reads are missing, if they are
};

/// Creates an unnamed file in `directory` and reads it in several ways. The file never remains.
/// Calls `on_progress` before each measurement and at the end.
Result<Measurements> measure_storage(const std::filesystem::path& directory,
                                     const MeasureLimits& limits,
                                     const probe::ProgressSink& on_progress);

nlohmann::json to_json(const Measurements& measurements);

}  // namespace forebay::doctor
