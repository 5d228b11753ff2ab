// SPDX-License-Identifier: Apache-2.0
// A cut mesh in a store: step 0, with arrays for each part, as docs/guides/flow.md lists them.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <memory>

#include "flow/part.hpp"
#include "flow/part_store.hpp"

namespace forebay::flow {

inline constexpr std::uint64_t kMeshStep = 0;

struct MeshFacts {
  std::uint64_t parts = 0;
  std::uint64_t nodes = 0;     ///< of the whole mesh
  std::uint64_t elements = 0;  ///< of the whole mesh
  std::uint64_t seed = 0;
};

/// Belongs to part 0.
Status put_facts(StepWriter& step, const MeshFacts& facts);
Result<MeshFacts> get_facts(StepReader& step);

Status put_part(StepWriter& step, const Part& part);
/// A part that the solver can rely on: kDamage, with the array's name, if it means nothing.
/// Whether its neighbours agree with it is for check_neighbours().
Result<Part> get_part(StepReader& step, std::uint32_t number, const MeshFacts& facts);

}  // namespace forebay::flow
