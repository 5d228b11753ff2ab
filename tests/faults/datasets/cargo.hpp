// SPDX-License-Identifier: Apache-2.0
// What tests of datasets under faults write, and in which way: contents follow from one seed and
// the number of the step, the way (ranks, plan) from another, so that a restart may write the same
// dataset in any other way, and a reader knows what must be there without having written it.
#pragma once

#include <forebay/runtime.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::faults {

inline constexpr std::string_view kParts = "density";  ///< float64, uneven parts, some empty
inline constexpr std::string_view kGrid = "grid";      ///< float32, a global array of 3 dimensions

inline constexpr std::array kStrategies{
    Strategy::kSerial,          Strategy::kFilePerProcess, Strategy::kBaton, Strategy::kCollective,
    Strategy::kReducedBlocking, Strategy::kBrigade,        Strategy::kGather};

/// A block of a global array of 3 dimensions.
struct GridBlock {
  std::vector<std::uint64_t> start;
  std::vector<std::uint64_t> count;

  std::uint64_t elements() const;
};

/// The contents of all steps.
class Cargo {
 public:
  explicit Cargo(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t seed() const { return seed_; }
  std::uint64_t parts() const;
  std::vector<double> part(std::uint64_t step, std::uint64_t number) const;
  std::vector<std::uint64_t> grid_shape() const;
  /// The elements of a block, in C order.
  std::vector<float> grid(std::uint64_t step, const GridBlock& block) const;
  /// The block that `rank` of `ranks` has where the array is cut along this dimension; may be
  /// empty.
  GridBlock share_of(std::uint32_t rank, std::uint32_t ranks, std::size_t dimension) const;

 private:
  std::uint64_t seed_;
};

/// How some ranks write.
struct Way {
  std::uint32_t ranks = 1;
  std::uint32_t per_node = 0;
  WritePlan plan = {};

  std::string text() const;
};

/// Anything that a user may ask for.
Way way_of(std::uint64_t seed);

/// A hash that spreads: for choices that follow from a seed.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0);

/// Puts this rank's share of a step; its parts are those with part % ranks == rank. Some blocks are
/// copied and some adopted, as the contents' seed, the step and the rank decide.
Status put_share(Runtime& runtime, Step& step, const Cargo& cargo);

/// Begins, puts and commits; the receipt is to come.
Result<Future<Receipt>> commit_step(Runtime& runtime,
                                    Dataset& dataset,
                                    const Cargo& cargo,
                                    std::uint64_t number);

/// The same, and waits for the receipt.
Result<Receipt> write_step(Runtime& runtime,
                           Dataset& dataset,
                           const Cargo& cargo,
                           std::uint64_t number);

}  // namespace forebay::faults
