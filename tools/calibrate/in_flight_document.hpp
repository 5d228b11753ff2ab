// SPDX-License-Identifier: Apache-2.0
// `forebay-calibrate --in-flight`: measures, writes the entry into the profile, and returns both as
// a document.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tools/calibrate/in_flight.hpp"

namespace forebay::calibrate {

struct InFlightTask {
  std::filesystem::path directory;
  std::string profile;  ///< path; empty: the default profile of programs
  std::string about;    ///< author and date of the measurement
  InFlightLimits limits = {};
};

/// The source of the number, for the profile: one sentence. Pure.
std::string source_of(const InFlightFindings& found, const std::string& about);

/// The measurement. Keys: access, access_reason, backend, request_bytes, rounds, chosen (index in
/// points), noise, points: {in_flight_bytes, bytes_per_second, low, high, share (of the best),
/// request_s}. The time of a request follows from the rate and the number in flight (Little's law).
/// Pure.
nlohmann::json to_json(const InFlightFindings& found);

/// Measures, updates the profile, and returns the document. Further keys: profile, place, host
/// (null: any), in_flight_bytes, source, and before: {bytes, reason}, the former limit. Fails
/// before it measures if the profile is wrong or cannot be written.
Result<nlohmann::json> calibrate_in_flight(const InFlightTask& task,
                                           const ProgressCallback& on_progress);

}  // namespace forebay::calibrate
