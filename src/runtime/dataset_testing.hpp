// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of datasets: values that identify their place, ranks that write some of them,
// and a reader without ranks that compares everything. For tests only.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/ranks_access.hpp"
#include "format/block_reader.hpp"
#include "format/catalog.hpp"
#include "format/verify.hpp"
#include "runtime/testing.hpp"

namespace forebay {

/// A shared directory for datasets, and a Runtime on each rank.
struct DatasetFixture {
  explicit DatasetFixture(const Communicator& communicator, RuntimeOptions options = {})
      : ranks(*communicator),
        directory(communicator),
        runtime(comm::make_ranks(communicator), test_options(options)) {}
  std::string path() const { return directory / "run.fb"; }
  bool is_first() const { return ranks.rank() == comm::Rank{0}; }
  void barrier() const { EXPECT_TRUE(ranks.barrier()); }

  comm::Communicator& ranks;
  comm::SharedDirectory directory;
  Runtime runtime;
};

/// Sets a small memory and small segments if the plan leaves them open: clearing the default
/// staging memory takes longer than writing the parts of a test.
inline WritePlan with_small_memory(WritePlan plan) {
  if (plan.memory_bytes == 0) plan.memory_bytes = 16_MiB;
  if (plan.tuning.unit_bytes == 0) plan.tuning.unit_bytes = 1_MiB;
  return plan;
}

/// Number of elements of a part. Sizes are uneven; every fifth part is empty, and the second is
/// larger than two segments.
inline std::uint64_t elements_of_part(std::uint64_t part) {
  if (part % 5 == 3) return 0;
  if (part == 1) return 300'001;
  return 1000 + part * 37 % 5000;
}

inline double value_of(std::uint64_t step, std::uint64_t part, std::uint64_t element) {
  return static_cast<double>(step * 1'000'000'007 + part * 1'000'003 + element);
}

inline std::vector<double> values_of_part(std::uint64_t step, std::uint64_t part) {
  std::vector<double> values(elements_of_part(part));
  for (std::uint64_t i = 0; i < values.size(); ++i)
    values[i] = value_of(step, part, i);
  return values;
}

/// Parts that a rank puts: `part % ranks == rank`, so that adjacent parts are on different ranks.
inline std::vector<std::uint64_t> parts_of(std::uint32_t rank,
                                           std::uint32_t ranks,
                                           std::uint64_t parts) {
  std::vector<std::uint64_t> mine;
  for (std::uint64_t part = rank; part < parts; part += ranks)
    mine.push_back(part);
  return mine;
}

/// Puts and commits a rank's parts of one step, without waiting for the step.
inline Future<Receipt> start_writing_parts(const DatasetFixture& fixture,
                                           DatasetWriter& dataset,
                                           std::uint64_t number,
                                           std::uint64_t parts) {
  auto step = dataset.begin_step(number);
  if (!step) return step.error();
  for (const std::uint64_t part :
       parts_of(fixture.runtime.rank(), fixture.runtime.rank_count(), parts)) {
    const std::vector<double> values = values_of_part(number, part);
    const Status put = step->put("values", Part{part}, std::span(values));
    if (!put) return put.error();
  }
  return step->commit();
}

inline Result<Receipt> write_parts(const DatasetFixture& fixture,
                                   DatasetWriter& dataset,
                                   std::uint64_t number,
                                   std::uint64_t parts) {
  return start_writing_parts(fixture, dataset, number, parts).wait();
}

/// Writes three steps. The last rank aborts the second one, and all other ranks get its Error.
inline void write_with_aborted_step(DatasetFixture& fixture, std::uint64_t parts) {
  auto dataset = fixture.runtime.create_dataset(fixture.path(), {.plan = with_small_memory({})});
  ASSERT_TRUE(dataset) << dataset.error().message();
  EXPECT_TRUE(write_parts(fixture, *dataset, 1, parts));
  const std::uint32_t last = fixture.runtime.rank_count() - 1;
  auto step = dataset->begin_step(2);
  ASSERT_TRUE(step) << step.error().message();
  if (fixture.runtime.rank() == last) {
    step->abort();
  } else {
    const auto receipt = step->commit().wait();
    ASSERT_FALSE(receipt);
    EXPECT_EQ(receipt.error().rank(), last) << receipt.error().message();
  }
  const auto receipt = write_parts(fixture, *dataset, 3, parts);
  EXPECT_TRUE(receipt) << receipt.error().message();
  std::ignore = dataset->close();
}

/// Compares each step with the plan that wrote it, as far as the dataset shows it.
inline testing::AssertionResult matches_plan(const std::string& path, const WritePlan& plan) {
  const auto catalog = format::Catalog::open(path);
  if (!catalog) return testing::AssertionFailure() << catalog.error().message();
  for (const format::StepEntry& entry : (*catalog)->steps()) {
    if (plan.writers != 0 && entry.writers != plan.writers)
      return testing::AssertionFailure() << entry.writers << " writers";
    if (plan.files != 0 && entry.files.size() != plan.files)
      return testing::AssertionFailure() << entry.files.size() << " files";
    const bool is_smaller = entry.stored_bytes < entry.raw_bytes;
    if (plan.codec != Codec::kNone && !is_smaller)
      return testing::AssertionFailure() << entry.stored_bytes << " bytes stored";
  }
  return testing::AssertionSuccess();
}

/// Expects exactly these steps, complete, with the values of all parts.
inline testing::AssertionResult has_steps(const std::string& path,
                                          const std::vector<std::uint64_t>& steps,
                                          std::uint64_t parts) {
  const auto report = format::verify(path);
  if (!report) return testing::AssertionFailure() << report.error().message();
  if (!report->findings.empty())
    return testing::AssertionFailure() << report->findings.front().error.message();
  const auto catalog = format::Catalog::open(path);
  if (!catalog) return testing::AssertionFailure() << catalog.error().message();
  std::vector<std::uint64_t> found;
  for (const format::StepEntry& entry : (*catalog)->steps())
    found.push_back(entry.step);
  if (found != steps) return testing::AssertionFailure() << testing::PrintToString(found);
  format::BlockReader reader;
  for (const std::uint64_t number : steps) {
    const auto step = (*catalog)->step(number);
    if (!step) return testing::AssertionFailure() << step.error().message();
    for (std::uint64_t part = 0; part < parts; ++part) {
      const auto place = (*step)->find_part("values", part);
      if (!place) return testing::AssertionFailure() << place.error().message();
      const auto bytes = reader.read(**step, *place);
      if (!bytes) return testing::AssertionFailure() << bytes.error().message();
      const std::vector<double> expected = values_of_part(number, part);
      const auto requested = std::as_bytes(std::span(expected));
      if (!equal_bytes(*bytes, requested))
        return testing::AssertionFailure() << "step " << number << ", part " << part;
    }
  }
  return testing::AssertionSuccess();
}

/// Behavior of writing datasets, for any kind of communicator.
class DatasetSuite : public comm::CommunicatorTest {};

/// The same with I/O ranks.
class DedicatedDatasets : public comm::CommunicatorTest {};

}  // namespace forebay
