// SPDX-License-Identifier: Apache-2.0
// How fast one folder's storage is, found out in seconds: enough to say whether Forebay can help
// there, and never enough to hurt anybody who works on the same disk.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "storage/probe.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::doctor {

/// What the whole measurement may cost, and by what.
struct MeasureLimits {
  std::uint64_t file_bytes_max = 256ULL << 20U;
  double seconds_max = 10;
  /// What reads directly, as in a session.
  storage::BackendChoice engine = storage::BackendChoice::kAuto;
};

/// One number. `id` is stable: "write", "read.warm", "read.direct.16", "latency.4k".
struct Measurement {
  std::string id;
  std::string what;
  double value = 0;
  std::string unit;         ///< "B/s" or "s"
  double high = 0;          ///< of a latency: what 95 % stay below; else 0
  std::uint64_t bytes = 0;  ///< how much was moved for it
};

struct Measurements {
  std::vector<Measurement> values;
  std::uint64_t file_bytes = 0;
  std::string backend;       ///< what direct reads went through: "ring", "threads" or "aio"
  std::string not_measured;  ///< why direct reads are missing, if they are
};

/// Called before each measurement and at the end.
using MeasureProgress = std::function<void(const probe::Step& step)>;

/// Makes a file without a name in `folder` and reads it in several ways; it is gone afterwards
/// whatever happens.
Result<Measurements> measure_storage(const std::filesystem::path& folder,
                                     const MeasureLimits& limits,
                                     const MeasureProgress& on_progress);

nlohmann::json to_json(const Measurements& measurements);

}  // namespace forebay::doctor
