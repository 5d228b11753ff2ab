// SPDX-License-Identifier: Apache-2.0
// Rate of streams that write to a directory, by bytes in flight. Measured with streams of the
// library, so access, requests and threads are those of programs.
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
  /// Values to measure, ascending; whole requests of streams.
  std::vector<std::uint64_t> in_flight_bytes = {4_MiB, 8_MiB, 16_MiB, 32_MiB, 64_MiB, 128_MiB};
  std::uint64_t file_bytes = 256_MiB;
  double seconds_each = 0.15;  ///< one value of one round, at the best rate
  unsigned rounds = 9;
  unsigned rounds_min = 5;  ///< no further rounds after seconds_max
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

/// Writes a file in `directory`, which the caller removes, for about 15 seconds. Values that would
/// keep the storage busy for more than 0.25 s are not measured. After a discarded first round,
/// rounds alternate between ascending and descending order. Fails as streams do.
Result<InFlightFindings> observe_in_flight(const std::filesystem::path& directory,
                                           const InFlightLimits& limits,
                                           const ProgressCallback& on_progress);

}  // namespace forebay::calibrate
