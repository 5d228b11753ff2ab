// SPDX-License-Identifier: Apache-2.0
// choose_starts(): the candidates that a tuner measures before measurements direct its search.
#pragma once

#include <cstddef>
#include <vector>

#include "model/candidate_tuner.hpp"
#include "model/cost_surface.hpp"

namespace forebay::model {

/// The default first, then the best of the model, then scattered ones as a guard against a wrong
/// model. Candidates above `options.start_cost_max` are left out. Without a model there are more
/// scattered ones.
std::vector<std::size_t> choose_starts(const CostSurface& surface,
                                       std::size_t candidate_count,
                                       const TunerOptions& options);

}  // namespace forebay::model
