// SPDX-License-Identifier: Apache-2.0
// `forebay-calibrate --in-flight`: measures, puts the entry into the profile, and tells both as a
// document.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tools/calibrate/in_flight.hpp"

namespace forebay::calibrate {

struct InFlightTask {
  std::filesystem::path folder;
  std::string profile;  ///< path; empty: the one that programs take which name none
  std::string about;    ///< who measured, and when
  InFlightLimits limits = {};
};

/// Where the number comes from, as the profile repeats it: one sentence. Pure.
std::string source_of(const InFlightFindings& found, const std::string& about);

/// What was measured. Keys: access, access_reason, backend, request_bytes, rounds, chosen (place in
/// points), noise, points: {in_flight_bytes, bytes_per_second, low, high, share (of the best),
/// request_s}. The time of a request follows from rate and number under way (Little's law). Pure.
nlohmann::json to_json(const InFlightFindings& found);

/// Does it all. The document has besides: profile, place, host (null: any), in_flight_bytes,
/// source, and before: {bytes, reason}, the limit that was in force. Fails before it measures if
/// the profile is wrong or cannot be written.
Result<nlohmann::json> calibrate_in_flight(const InFlightTask& task, const Tell& tell);

}  // namespace forebay::calibrate
