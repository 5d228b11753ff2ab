// SPDX-License-Identifier: Apache-2.0
// What tests of datasets share: values that tell where they belong, ranks that write some of them,
// and a reader that knows nothing of ranks and compares everything. For tests only.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "format/block_reader.hpp"
#include "format/catalog.hpp"
#include "format/verify.hpp"
#include "runtime/testing.hpp"

namespace forebay {

/// Where datasets are written that all ranks see, and a Runtime on each.
struct Yard {
  explicit Yard(const Communicator& communicator, RuntimeOptions options = {})
      : ranks(*communicator), folder(communicator), runtime(Ranks(communicator), tested(options)) {}
  std::string path() const { return folder / "run.fb"; }
  bool is_first() const { return ranks.rank() == comm::Rank{0}; }
  void meet() const { EXPECT_TRUE(ranks.barrier()); }

  comm::Communicator& ranks;
  comm::SharedFolder folder;
  Runtime runtime;
};

/// With little memory and small segments where the plan leaves these open: what ranks stage by
/// default takes longer to clear than parts of a test take to write.
inline WritePlan for_test(WritePlan plan) {
  if (plan.memory_bytes == 0) plan.memory_bytes = 16_MiB;
  if (plan.unit_bytes == 0) plan.unit_bytes = 1_MiB;
  return plan;
}

/// Elements of a part: uneven; every fifth is empty, the second one larger than two segments.
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

/// Parts that a rank puts: `part % ranks == rank`, so that neighbours differ.
inline std::vector<std::uint64_t> parts_of(std::uint32_t rank,
                                           std::uint32_t ranks,
                                           std::uint64_t parts) {
  std::vector<std::uint64_t> mine;
  for (std::uint64_t part = rank; part < parts; part += ranks)
    mine.push_back(part);
  return mine;
}

/// Puts and commits a rank's parts of one step, and does not wait for it.
inline Future<Receipt> begin_to_write_parts(const Yard& yard,
                                            Dataset& dataset,
                                            std::uint64_t number,
                                            std::uint64_t parts) {
  auto step = dataset.begin_step(number);
  if (!step) return step.error();
  for (const std::uint64_t part : parts_of(yard.runtime.rank(), yard.runtime.rank_count(), parts)) {
    const std::vector<double> values = values_of_part(number, part);
    const Status put = step->put("values", Part{part}, std::span(values));
    if (!put) return put.error();
  }
  return step->commit();
}

inline Result<Receipt> write_parts(const Yard& yard,
                                   Dataset& dataset,
                                   std::uint64_t number,
                                   std::uint64_t parts) {
  return begin_to_write_parts(yard, dataset, number, parts).wait();
}

/// Three steps, of which the last rank gives up the second one, as all others are told.
inline void write_two_of_three(Yard& yard, std::uint64_t parts) {
  auto dataset = yard.runtime.dataset(yard.path(), for_test({}));
  ASSERT_TRUE(dataset) << dataset.error().message();
  EXPECT_TRUE(write_parts(yard, *dataset, 1, parts));
  const std::uint32_t last = yard.runtime.rank_count() - 1;
  auto step = dataset->begin_step(2);
  ASSERT_TRUE(step) << step.error().message();
  if (yard.runtime.rank() == last) {
    step->abandon();
  } else {
    const auto receipt = step->commit().wait();
    ASSERT_FALSE(receipt);
    EXPECT_EQ(receipt.error().rank(), last) << receipt.error().message();
  }
  const auto receipt = write_parts(yard, *dataset, 3, parts);
  EXPECT_TRUE(receipt) << receipt.error().message();
  std::ignore = dataset->close();
}

/// Whether exactly these steps are there, whole, with the values of all parts.
/// Whether each step was written in the way that `plan` gives, as far as the dataset shows it.
inline testing::AssertionResult is_written_by(const std::string& path, const WritePlan& plan) {
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
      const auto wanted = std::as_bytes(std::span(expected));
      if (!same_bytes(*bytes, wanted))
        return testing::AssertionFailure() << "step " << number << ", part " << part;
    }
  }
  return testing::AssertionSuccess();
}

/// What writing datasets must do, whoever makes the ranks.
class DatasetSuite : public comm::MakeTest {};

/// The same where ranks are given to I/O.
class DedicatedDatasets : public comm::MakeTest {};

}  // namespace forebay
