// SPDX-License-Identifier: Apache-2.0
// Attributes of one process: the state of handles, and their limits.
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/dataset_reader_testing.hpp"
#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

class ProcessAttributes : public ::testing::Test {
 protected:
  DatasetWriter create(ExistingDataset existing = ExistingDataset::kFail) {
    return runtime_.create_dataset(path(), {.existing = existing, .plan = with_small_memory({})})
        .value();
  }
  std::string path() const { return directory_ / "run.fb"; }

  const TemporaryDirectory directory_;
  Runtime runtime_;
};

TEST_F(ProcessAttributes, handle_without_a_step_is_refused) {
  DatasetWriter writer = create();
  StepWriter step = writer.begin_step(1).value();
  const StepWriter moved = std::move(step);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is the case
  EXPECT_EQ(error_class(step.set_attribute("time", 1)), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(step.set_field_attribute("a", "b", 1)), ErrorClass::kInvalidArgument);
}

TEST_F(ProcessAttributes, closed_dataset_is_refused) {
  DatasetWriter writer = create();
  ASSERT_TRUE(writer.close());
  EXPECT_EQ(error_class(writer.set_attribute("title", "late")), ErrorClass::kClosed);
}

TEST_F(ProcessAttributes, invalid_attribute_of_the_dataset_fails_no_step) {
  DatasetWriter writer = create();
  const Status set = writer.set_attribute("", 1);
  ASSERT_EQ(error_class(set), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(set.error(), path()));
  StepWriter step = writer.begin_step(1).value();
  EXPECT_TRUE(step.commit().wait());
  EXPECT_TRUE(writer.close());
}

TEST_F(ProcessAttributes, too_many_of_dataset_and_step_together_fail_the_step) {
  DatasetWriter writer = create();
  const std::vector<std::byte> large(1_MiB);
  for (int i = 0; i < 15; ++i)
    ASSERT_TRUE(writer.set_attribute("large " + std::to_string(i), large));
  StepWriter step = writer.begin_step(1).value();
  ASSERT_TRUE(step.set_attribute("large", large));
  const auto receipt = step.commit().wait();
  ASSERT_EQ(error_class(receipt), ErrorClass::kLimit);
  EXPECT_TRUE(message_contains(receipt.error(), "16 MiB"));
  StepWriter next = writer.begin_step(2).value();
  EXPECT_TRUE(next.commit().wait());
}

TEST_F(ProcessAttributes, dataset_without_steps_has_none) {
  ASSERT_TRUE(create().close());
  const auto reader = runtime_.open_dataset(path());
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->attributes().value().empty());
}

TEST_F(ProcessAttributes, attributes_of_the_dataset_are_those_of_the_newest_step) {
  for (const std::uint64_t number : {1U, 2U}) {
    DatasetWriter writer = create(ExistingDataset::kAppend);
    if (number == 1) {
      ASSERT_TRUE(writer.set_attribute("title", "first run"));
    }
    StepWriter step = writer.begin_step(number).value();
    ASSERT_TRUE(step.commit().wait());
    ASSERT_TRUE(writer.close());
    const auto reader = runtime_.open_dataset(path());
    EXPECT_EQ(reader->attributes()->size(), number == 1 ? 1U : 0U);
    EXPECT_EQ(reader->open_step(1)->dataset_attributes().size(), 1U);
  }
}

TEST_F(ProcessAttributes, unreadable_attributes_of_the_dataset_are_an_error) {
  DatasetWriter writer = create();
  ASSERT_TRUE(writer.set_attribute("title", "a run"));
  StepWriter step = writer.begin_step(1).value();
  ASSERT_TRUE(step.put("values", Part{0}, std::array{1.0}));
  ASSERT_TRUE(step.commit().wait());
  ASSERT_TRUE(writer.close());
  const std::string file = path() + "/data-000000.00000";
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  flip_bit(file, bytes.find("a run"));
  const auto reader = runtime_.open_dataset(path());
  const auto attributes = reader->attributes();
  ASSERT_EQ(error_class(attributes), ErrorClass::kDamage);
  EXPECT_TRUE(message_contains(attributes.error(), file));
  EXPECT_TRUE(reader->open_step(1)->has("values", Part{0}));
  ASSERT_TRUE(std::filesystem::remove(file));
  EXPECT_EQ(error_class(runtime_.open_dataset(path())->attributes()), ErrorClass::kNotFound);
}

}  // namespace
}  // namespace forebay
