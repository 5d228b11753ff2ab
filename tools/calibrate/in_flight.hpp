// SPDX-License-Identifier: Apache-2.0
// How fast streams write to a folder with a growing number of bytes under way: measured with the
// library's own streams, so that access, requests and threads are those that programs will have.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/calibrate/in_flight_choice.hpp"
#include "tools/calibrate/observe.hpp"

namespace forebay::calibrate {

struct InFlightLimits {
  /// What is tried, rising; whole requests of streams.
  std::vector<std::uint64_t> in_flight_bytes = {4_MiB, 8_MiB, 16_MiB, 32_MiB, 64_MiB, 128_MiB};
  std::uint64_t file_bytes = 256_MiB;
  double seconds_each = 0.15;  ///< one value of one round, at the best rate
  unsigned rounds = 9;
  unsigned rounds_min = 5;  ///< no more than these after seconds_max
  double seconds_max = 15;
};

struct InFlightFindings {
  Access access = Access::kBuffered;  ///< as streams write there
  std::string access_reason;
  std::string backend;
  std::uint64_t request_bytes = 0;
  std::vector<InFlightPoint> points;
  InFlightChoice choice;
};

/// Writes a file in `folder`, which is the caller's to remove, for about a quarter of a minute.
/// Nothing is tried that would keep the storage busy for more than a quarter of a second. One round
/// goes up, the next one down, after a first one that does not count. Fails as streams do.
Result<InFlightFindings> observe_in_flight(const std::filesystem::path& folder,
                                           const InFlightLimits& limits,
                                           const Tell& tell);

}  // namespace forebay::calibrate
