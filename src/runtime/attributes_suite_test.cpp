// SPDX-License-Identifier: Apache-2.0
// Attributes that ranks set, written by every strategy and read back by every rank.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

constexpr std::uint64_t kPartsWithAttributes = 7;

template <class F>
void with_attributes_fixture(F test) {
  comm::CommunicatorTest::run_on_all_ranks([&](const Communicator& communicator) {
    DatasetFixture fixture(communicator);
    test(fixture);
    fixture.barrier();
  });
}

/// All ranks set the same, and each rank something of its own.
Status set_step_attributes(const DatasetFixture& fixture, StepWriter& step) {
  const std::uint64_t number = step.number();
  Status set = step.set_attribute("time", 0.5 * static_cast<double>(number));
  const std::string own = "rank " + std::to_string(fixture.runtime.rank());
  if (set) set = step.set_attribute(own, "replaced");
  if (set) set = step.set_attribute(own, fixture.runtime.rank());
  if (set) set = step.set_field_attribute("values", "units", "Pa");
  if (set) set = step.set_field_attribute("values", "range", std::array{0.0, 1.0});
  return set;
}

/// Puts, sets attributes and commits on every rank.
Result<Receipt> write_with_attributes(const DatasetFixture& fixture,
                                      DatasetWriter& dataset,
                                      std::uint64_t number) {
  auto step = dataset.begin_step(number);
  if (!step) return tl::unexpected(step.error());
  for (const std::uint64_t part :
       parts_of(fixture.runtime.rank(), fixture.runtime.rank_count(), kPartsWithAttributes))
    if (const Status put = step->put("values", Part{part}, values_of_part(number, part)); !put)
      return tl::unexpected(put.error());
  if (const Status set = set_step_attributes(fixture, *step); !set)
    return tl::unexpected(set.error());
  return step->commit().wait();
}

void expect_step_attributes(const DatasetFixture& fixture, const StepReader& step) {
  EXPECT_TRUE(step.errors().empty());
  const std::uint32_t ranks = fixture.runtime.rank_count();
  EXPECT_EQ(step.attributes().size(), ranks + 1);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const auto* own = find_attribute(step.attributes(), "rank " + std::to_string(rank));
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(*own, AttributeValue(rank));
  }
  const auto* time = find_attribute(step.attributes(), "time");
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->number(), 0.5 * static_cast<double>(step.number()));
  const FieldInfo* values = step.find("values");
  ASSERT_NE(values, nullptr);
  ASSERT_EQ(values->attributes.size(), 2U);
  EXPECT_EQ(values->attributes[0], (Attribute{"range", std::array{0.0, 1.0}}));
  EXPECT_EQ(values->attributes[1], (Attribute{"units", "Pa"}));
}

/// Three steps; the dataset's attributes change after the first one.
void write_and_read_attributes(DatasetFixture& fixture, WritePlan plan) {
  SCOPED_TRACE(name_of(plan.strategy));
  const std::string path = fixture.directory / std::string(name_of(plan.strategy));
  auto writer = fixture.runtime.create_dataset(path, {.plan = with_small_memory(plan)});
  ASSERT_TRUE(writer) << writer.error().message();
  ASSERT_TRUE(writer->set_attribute("title", "first"));
  for (const std::uint64_t number : {1U, 2U, 5U}) {
    const auto receipt = write_with_attributes(fixture, *writer, number);
    ASSERT_TRUE(receipt) << receipt.error().message();
    ASSERT_TRUE(writer->set_attribute("title", "second"));
  }
  ASSERT_TRUE(writer->close());
  fixture.barrier();
  const auto reader = fixture.runtime.open_dataset(path);
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(reader->attributes().value(), (std::vector<Attribute>{{"title", "second"}}));
  for (const std::uint64_t number : reader->steps()) {
    const StepReader step = reader->open_step(number).value();
    expect_step_attributes(fixture, step);
    ASSERT_EQ(step.dataset_attributes().size(), 1U);
    EXPECT_EQ(step.dataset_attributes()[0].value.text(), number == 1 ? "first" : "second");
  }
  if (fixture.is_first()) {
    EXPECT_TRUE(format::verify(path)->findings.empty());
  }
}

TEST_P(DatasetSuite, attributes_of_every_rank_are_read_back_with_every_strategy) {
  with_attributes_fixture([](DatasetFixture& fixture) {
    for (auto number = static_cast<std::uint8_t>(Strategy::kAuto);
         number <= static_cast<std::uint8_t>(Strategy::kGather); ++number) {
      WritePlan plan{.strategy = static_cast<Strategy>(number)};
      plan.tuning.steps_per_group = 1 + number % 2;
      write_and_read_attributes(fixture, plan);
    }
  });
}

/// Lets the ranks write step 1 after `set`, and returns its outcome. The next step must succeed.
template <class F>
Error failed_step(DatasetFixture& fixture, Strategy strategy, F set) {
  auto writer = fixture.runtime.create_dataset(fixture.directory / std::string(name_of(strategy)),
                                               {.plan = with_small_memory({.strategy = strategy})});
  EXPECT_TRUE(writer);
  auto step = writer->begin_step(1);
  EXPECT_TRUE(step);
  EXPECT_TRUE(step->put("values", Part{fixture.runtime.rank()}, std::array{1.0, 2.0}));
  set(*step);
  const auto receipt = step->commit().wait();
  EXPECT_FALSE(receipt);
  const auto next = write_with_attributes(fixture, *writer, 2);
  EXPECT_TRUE(next) << next.error().message();
  std::ignore = writer->close();
  return receipt ? Error({}) : receipt.error();
}

TEST_P(DatasetSuite, different_values_of_an_attribute_fail_the_step_and_name_both_ranks) {
  with_attributes_fixture([](DatasetFixture& fixture) {
    const std::uint32_t rank = fixture.runtime.rank();
    const std::uint32_t last = fixture.runtime.rank_count() - 1;
    if (last == 0) return;
    for (const Strategy strategy : {Strategy::kFilePerProcess, Strategy::kSerial}) {
      const Error error = failed_step(fixture, strategy, [&](StepWriter& step) {
        EXPECT_TRUE(step.set_field_attribute("values", "units", rank == last ? "Pa" : "hPa"));
      });
      EXPECT_EQ(error.kind(), ErrorClass::kInvalidArgument);
      ASSERT_TRUE(error.rank());
      EXPECT_THAT(error.message(),
                  HasSubstr("attribute units of field values has another value here than on rank"));
      EXPECT_TRUE(error.rank() == last ||
                  message_contains(error, "than on rank " + std::to_string(last)))
          << error.message();
    }
  });
}

TEST_P(DatasetSuite, attribute_of_a_field_that_no_rank_put_fails_the_step) {
  with_attributes_fixture([](DatasetFixture& fixture) {
    const Error error = failed_step(fixture, Strategy::kAuto, [&](StepWriter& step) {
      if (!fixture.is_first()) return;
      EXPECT_TRUE(step.set_field_attribute("value", "units", "Pa"));
    });
    EXPECT_EQ(error.kind(), ErrorClass::kInvalidArgument);
    EXPECT_EQ(error.rank(), 0U);
    EXPECT_THAT(error.message(), HasSubstr("attribute units of field value has no field"));
  });
}

TEST_P(DatasetSuite, invalid_attribute_of_one_rank_fails_the_step) {
  with_attributes_fixture([](DatasetFixture& fixture) {
    const Error error = failed_step(fixture, Strategy::kAuto, [&](StepWriter& step) {
      if (!fixture.is_first()) return;
      const Status set = step.set_attribute("time", std::string("\xff"));
      ASSERT_EQ(error_class(set), ErrorClass::kInvalidArgument);
      EXPECT_TRUE(message_contains(set.error(), "set attribute time of the step"));
    });
    EXPECT_EQ(error.kind(), ErrorClass::kInvalidArgument);
    EXPECT_THAT(error.message(), HasSubstr("a text is UTF-8 without zero bytes"));
  });
}

TEST_P(DatasetSuite, attributes_may_be_of_one_rank_without_data) {
  with_attributes_fixture([](DatasetFixture& fixture) {
    const std::uint32_t last = fixture.runtime.rank_count() - 1;
    auto writer = fixture.runtime.create_dataset(
        fixture.path(), {.plan = with_small_memory({.strategy = Strategy::kFilePerProcess})});
    ASSERT_TRUE(writer);
    auto step = writer->begin_step(1);
    ASSERT_TRUE(step);
    if (fixture.is_first()) {
      ASSERT_TRUE(step->put("values", Part{0}, std::array{1.0}));
    }
    if (fixture.runtime.rank() == last) {
      const Texts names(1000, "a name of 29 bytes for a list");
      ASSERT_TRUE(step->set_field_attribute("values", "dimension_names", names));
      ASSERT_TRUE(step->set_attribute("mask", std::vector<std::uint8_t>(1_MiB, 1)));
    }
    ASSERT_TRUE(step->commit().wait());
    ASSERT_TRUE(writer->close());
    fixture.barrier();
    const auto reader = fixture.runtime.open_dataset(fixture.path());
    ASSERT_TRUE(reader);
    const StepReader stored = reader->open_step(1).value();
    EXPECT_EQ(stored.find("values")->attributes.at(0).value.texts().size(), 1000U);
    EXPECT_EQ(stored.attributes()[0].value.bytes().size(), 1_MiB);
    EXPECT_TRUE(reader->attributes().value().empty());
  });
}

}  // namespace
}  // namespace forebay
