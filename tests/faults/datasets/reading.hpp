// SPDX-License-Identifier: Apache-2.0
// How tests of datasets under faults read: what one rank needs of a step, and the comparison of all
// of it with the cargo. One file knows by which interface.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cargo.hpp"
#include "format/block_reader.hpp"
#include "format/catalog.hpp"

namespace forebay::faults {

/// One rank's view of a dataset that is there. One thread.
class StepReader {
 public:
  static Result<StepReader> open(const std::string& path);

  std::vector<std::uint64_t> steps() const;
  Result<std::vector<double>> part(std::uint64_t step, std::uint64_t number);
  /// A block of the grid, whatever blocks it was written in.
  Result<std::vector<float>> grid(std::uint64_t step, const GridBlock& block);

 private:
  explicit StepReader(std::unique_ptr<format::Catalog> catalog) : catalog_(std::move(catalog)) {}

  std::unique_ptr<format::Catalog> catalog_;
  format::BlockReader reader_;
};

/// Whether what rank `rank` of `ranks` reads of a step is the cargo: every part with
/// part % ranks == rank, and its share of the grid, cut along `dimension`.
struct ReadingRank {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::size_t dimension = 0;
};
testing::AssertionResult has_share(StepReader& reader,
                                   const Cargo& cargo,
                                   std::uint64_t step,
                                   const ReadingRank& who);

/// Whether the newest step is there, at least `newest`, and every step that is there is whole: no
/// finding of verify, and all contents are the cargo's.
enum class Slots : std::uint8_t { kBothWhole, kOneMayBeTorn };
testing::AssertionResult is_whole(const std::string& path,
                                  const Cargo& cargo,
                                  std::uint64_t newest,
                                  Slots slots = Slots::kBothWhole);

}  // namespace forebay::faults
