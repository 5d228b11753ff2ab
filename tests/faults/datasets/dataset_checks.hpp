// SPDX-License-Identifier: Apache-2.0
// Checks of datasets under faults, by the tables and pieces of the format. They do not use
// Forebay's readers, which are not under test here, and they also read damaged or partly written
// datasets. Restarts are read as programs do: restart_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "format/block_reader.hpp"
#include "format/catalog.hpp"
#include "test_contents.hpp"

namespace forebay::faults {

/// Reads an existing dataset. For one thread.
class CatalogReader {
 public:
  static Result<CatalogReader> open(const std::string& path);

  std::vector<std::uint64_t> steps() const;
  Result<std::vector<double>> part(std::uint64_t step, std::uint64_t number);
  /// A block of the grid, whatever blocks were written; an Error if these do not cover it.
  Result<std::vector<float>> grid(std::uint64_t step, const GridBlock& block);

 private:
  explicit CatalogReader(std::unique_ptr<format::Catalog> catalog) : catalog_(std::move(catalog)) {}

  std::unique_ptr<format::Catalog> catalog_;
  format::BlockReader reader_;
};

/// Checks that the newest step is `newest` or later and that every step is complete: verify finds
/// nothing, and the values are those of `contents`. Steps before `oldest` were dropped: if an older
/// table lists them, files may be missing.
enum class CommitSlots : std::uint8_t { kBothIntact, kOneMayBeTorn };
testing::AssertionResult is_intact(const std::string& path,
                                   const TestContents& contents,
                                   std::uint64_t newest,
                                   CommitSlots slots = CommitSlots::kBothIntact,
                                   std::uint64_t oldest = 0);

/// Checks that step numbers are consecutive, as they are if writers leave no gap and drop the
/// oldest: no step between others was lost.
testing::AssertionResult has_no_gap(const std::string& path);

/// Files of the directory other than those of existing steps, and other than the small files of
/// processes that ended while they requested the lease.
std::vector<std::string> stray_files(const std::string& path);

}  // namespace forebay::faults
