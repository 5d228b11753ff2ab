// SPDX-License-Identifier: Apache-2.0
// Compares two profiles: first their structure, then every value.
#pragma once

#include <array>
#include <string>

#include "command/progress.hpp"
#include "cube/describe.hpp"

namespace forebay::cube {

/// Two numbers are equal if they differ by no more than absolute + relative * the larger of both.
/// Without tolerance, whole numbers are compared exactly. Two NaN are equal.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

struct CompareOptions {
  std::array<std::string, 2> paths;
  Tolerance tolerance;
  std::uint64_t shown_max = 5;  ///< differences listed for each metric
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// Returns the document of `diff`; its "ok" is true if there is no difference. The storage of rows
/// makes no difference; neither do rows that are zero in one profile and absent in the other.
/// Values are compared if both profiles have the same call tree and locations, for metrics that
/// both have and that are comparable. Fails if a profile cannot be read.
Result<Json> compare(const CompareOptions& options);

}  // namespace forebay::cube
