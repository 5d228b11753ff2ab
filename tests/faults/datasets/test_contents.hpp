// SPDX-License-Identifier: Apache-2.0
// What tests of datasets under faults write, and how. Contents depend on a seed and the step
// number; ranks and plan depend on another seed. So a restart may write the same dataset with other
// ranks and plan, and a reader can compute the expected values.
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
class TestContents {
 public:
  explicit TestContents(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t seed() const { return seed_; }
  std::uint64_t parts() const;
  std::vector<double> part(std::uint64_t step, std::uint64_t number) const;
  std::vector<std::uint64_t> grid_shape() const;
  /// The elements of a block, in C order.
  std::vector<float> grid(std::uint64_t step, const GridBlock& block) const;
  /// The block of `rank` if the array is cut along this dimension over `ranks`; may be empty.
  GridBlock share_of(std::uint32_t rank, std::uint32_t ranks, std::size_t dimension) const;

 private:
  std::uint64_t seed_;
};

/// How some ranks write.
struct WriteConfig {
  std::uint32_t ranks = 1;
  std::uint32_t per_node = 0;
  WritePlan plan = {};

  std::string text() const;
};

/// Any configuration that a user may request.
WriteConfig random_config(std::uint64_t seed);

/// A hash with good distribution: for choices that depend on a seed.
std::uint64_t hash_mix(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0);

/// Puts this rank's share of a step; its parts are those with part % ranks == rank. Some blocks are
/// copied and some adopted, as chosen by contents' seed, step and rank.
Status put_share(Runtime& runtime, StepWriter& step, const TestContents& contents);

/// Begins, puts and commits. Does not wait for the receipt.
Result<Future<Receipt>> commit_step(Runtime& runtime,
                                    DatasetWriter& dataset,
                                    const TestContents& contents,
                                    std::uint64_t number);

/// As commit_step(), and waits for the receipt.
Result<Receipt> write_step(Runtime& runtime,
                           DatasetWriter& dataset,
                           const TestContents& contents,
                           std::uint64_t number);

}  // namespace forebay::faults
