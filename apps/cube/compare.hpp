// SPDX-License-Identifier: Apache-2.0
// Where two profiles differ: first what they consist of, then every value.
#pragma once

#include <array>
#include <string>

#include "command/progress.hpp"
#include "cube/describe.hpp"

namespace forebay::cube {

/// Numbers are the same if they differ by no more than absolute + relative * the larger of both.
/// Without tolerance whole numbers are compared exactly. Two NaN are the same.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

struct CompareOptions {
  std::array<std::string, 2> paths;
  Tolerance tolerance;
  std::uint64_t shown = 5;  ///< differences that are listed for each metric
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// The document of `diff`; "ok" is true if there is no difference. How rows are stored, and rows
/// that are zero and not there, make none. Values are compared for metrics that both have and can
/// be compared, where both have the same call tree and locations. Fails if one cannot be read.
Result<Json> compare(const CompareOptions& options);

}  // namespace forebay::cube
