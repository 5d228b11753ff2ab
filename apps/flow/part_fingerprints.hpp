// SPDX-License-Identifier: Apache-2.0
// Fingerprints of data of all ranks, the same on any number of ranks: that of each part, hashed in
// ascending order of parts.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include "flow/part_set.hpp"
#include "flow/solver_comm.hpp"

namespace forebay::flow {

/// Collective. `of_parts` has the fingerprint of each part of this rank.
std::uint64_t fingerprint_of_all(const PartSet& set,
                                 SolverComm& comm,
                                 std::span<const std::uint64_t> of_parts);

/// Collective. Hashes the values of owned nodes, `width` for each.
std::uint64_t fingerprint_of_values(const PartSet& set,
                                    SolverComm& comm,
                                    std::span<const double> values,
                                    std::size_t width = 1);

/// Collective. Hashes nodes, coordinates, markers and elements.
std::uint64_t fingerprint_of_mesh(const PartSet& set, SolverComm& comm);

/// Collective. Checks that any two neighbors agree on the nodes they share. kDamage if not, because
/// their messages would not match.
Status check_neighbors(const PartSet& set, SolverComm& comm);

}  // namespace forebay::flow
