// SPDX-License-Identifier: Apache-2.0
// How tests of datasets under faults look at what lies there: by the tables and pieces of the
// format, past the reading side of Forebay, which is not what is to be blamed or believed here, and
// also where a dataset was damaged or left half-written on purpose. Restarts are read as programs
// read: restart_test.cpp.
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

/// A dataset that is there. One thread.
class StepReader {
 public:
  static Result<StepReader> open(const std::string& path);

  std::vector<std::uint64_t> steps() const;
  Result<std::vector<double>> part(std::uint64_t step, std::uint64_t number);
  /// A block of the grid, whatever blocks it was written in; an Error if these do not cover it.
  Result<std::vector<float>> grid(std::uint64_t step, const GridBlock& block);

 private:
  explicit StepReader(std::unique_ptr<format::Catalog> catalog) : catalog_(std::move(catalog)) {}

  std::unique_ptr<format::Catalog> catalog_;
  format::BlockReader reader_;
};

/// Whether the newest step is there, at least `newest`, and every step that is there is whole: no
/// finding of verify, and all contents are the cargo's. Steps before `oldest` were dropped: where a
/// table of before lists them, files may be missing.
enum class Slots : std::uint8_t { kBothWhole, kOneMayBeTorn };
testing::AssertionResult is_whole(const std::string& path,
                                  const Cargo& cargo,
                                  std::uint64_t newest,
                                  Slots slots = Slots::kBothWhole,
                                  std::uint64_t oldest = 0);

/// Whether the numbers of its steps follow one another, as those who write without a gap and drop
/// the oldest leave them: none has been lost among others.
testing::AssertionResult has_no_gap(const std::string& path);

/// What lies in its folder besides the files of steps that are there, and besides a few bytes of
/// those who died while they asked for the lease.
std::vector<std::string> leftovers(const std::string& path);

}  // namespace forebay::faults
