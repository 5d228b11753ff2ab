// SPDX-License-Identifier: Apache-2.0
// Parts and elements that two blocks of a step have: no reader could choose between them. The owner
// of a file compares the blocks in it; where a step has several files, the coordinator compares
// those of all. Both compare claims: the parts or the box of each block, and the rank that put it.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "write/rank_step.hpp"

namespace forebay::write {

/// Consecutive parts of a field, put by one rank.
struct PartClaim {
  std::uint64_t first = 0;
  std::uint32_t count = 1;
  std::uint32_t rank = 0;
};

struct FieldClaims {
  std::string name;
  std::vector<PartClaim> parts;          ///< by first part and rank
  std::uint32_t dimensions = 0;          ///< of a global array
  std::vector<std::uint64_t> boxes;      ///< of each block with elements: its start, its count
  std::vector<std::uint32_t> box_ranks;  ///< of each box
};

/// By name of field.
using StepClaims = std::vector<FieldClaims>;

/// Of one file: steps[i] was put by ranks[i]. Fields of one name are the same in all of them.
StepClaims claims_of(std::span<const RankStep> steps, std::span<const std::uint32_t> ranks);

/// Of several files. Fields of one name are the same in all of them.
StepClaims merged(std::vector<StepClaims> files);

/// kInvalidArgument if two blocks are the same part of a field, or share elements of a global
/// array: it names both ranks, and is on the one with the higher number.
Status check_uncontested(std::uint64_t step, const StepClaims& claims);

/// As the payload of a letter, and back.
comm::Bytes to_bytes(const StepClaims& claims);
/// kDamage, with field and value, if no rank sends it.
Result<StepClaims> claims_from(std::span<const std::byte> bytes);

}  // namespace forebay::write
