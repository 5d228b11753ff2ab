// SPDX-License-Identifier: Apache-2.0
// Fingerprints of what all ranks have together, the same on any number of ranks: one of each part,
// taken together in rising order of parts.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include "flow/part_set.hpp"
#include "flow/team.hpp"

namespace forebay::flow {

/// Collective. `of_parts` has one for each part of this rank.
std::uint64_t fingerprint_of_all(const PartSet& set,
                                 Team& team,
                                 std::span<const std::uint64_t> of_parts);

/// Collective. Of the values of owned nodes, `width` for each.
std::uint64_t fingerprint_of_values(const PartSet& set,
                                    Team& team,
                                    std::span<const double> values,
                                    std::size_t width = 1);

/// Collective. Of nodes, places, marks and elements.
std::uint64_t fingerprint_of_mesh(const PartSet& set, Team& team);

/// Collective. Whether each two neighbours agree on the nodes that they share; kDamage if not,
/// because messages would not match then.
Status check_neighbours(const PartSet& set, Team& team);

}  // namespace forebay::flow
