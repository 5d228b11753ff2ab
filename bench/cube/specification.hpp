// SPDX-License-Identifier: Apache-2.0
// The metrics that the stages compute. The re-mapping of the study is unknown. This one copies all
// stored metrics and computes six derived ones that are commonly viewed. Its ratio of computing to
// writing is close to that of the study.
#pragma once

#include <string>

namespace forebay::bench::cube {

/// For a generated profile with eleven metrics.
std::string stage_specification();

/// One metric, computed repeatedly from the first one of any generated profile.
std::string compute_bound_specification();

}  // namespace forebay::bench::cube
