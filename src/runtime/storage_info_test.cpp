// SPDX-License-Identifier: Apache-2.0
// Sessions are planned by the machine of the options and name it as source. A machine that cannot
// be read is an Error.
#include <forebay/runtime.hpp>

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "runtime/testing.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

class StorageInfoTest : public ::testing::Test {
 protected:
  StorageInfoTest() { write_words(path, 8_MiB); }

  /// The plan of a buffered session, which works on every disk.
  Result<ReadPlan> plan_with(const std::string& machine) const {
    return plan_with(RuntimeOptions{.machine = machine});
  }
  Result<ReadPlan> plan_with(const RuntimeOptions& options) const {
    Runtime runtime(options);
    const auto file = runtime.open_file(path);
    if (!file) return failure(file.error());
    return file->read_session({}, {.access = Access::kBuffered}).map([](const Session& session) {
      return session.plan();
    });
  }
  bool is_in_memory() const {
    return storage::open_file(path).value()->file_system() == storage::FileSystem::kTmpfs;
  }

  storage::TemporaryDirectory directory;
  const std::string path = directory / "words";
};

constexpr const char* kFarMachine = R"(
format = 1
name = "far-away"
[[servers]]
latency_us = 20000
concurrency = 64
bandwidth_mb_per_s = 1000
)";

TEST_F(StorageInfoTest, machine_file_sets_the_requests_in_flight) {
  if (is_in_memory()) GTEST_SKIP() << "files of tests are in memory here";
  std::ofstream(directory / "far.toml") << kFarMachine;
  const auto far = plan_with(directory / "far.toml");
  ASSERT_TRUE(far) << far.error().message();
  const auto usual = plan_with("");
  ASSERT_TRUE(usual);
  EXPECT_GT(far->tuning.queue_depth * far->tuning.request_bytes,
            usual->tuning.queue_depth * usual->tuning.request_bytes);
  EXPECT_NE(far->reason.find("keep its storage busy"), std::string::npos) << far->reason;
  EXPECT_EQ(usual->reason.find("keep its storage busy"), std::string::npos);
}

TEST_F(StorageInfoTest, shipped_machine_is_found_by_name) {
  const auto plan = plan_with("lustre-small");
  EXPECT_TRUE(plan) << plan.error().message();
}

// Before, the model made requests of no bytes from a quarter of 2 bytes, and divided by them.
TEST_F(StorageInfoTest, tiny_budget_is_an_error_without_a_crash) {
  const auto plan = plan_with(RuntimeOptions{.budget_bytes = 2, .machine = "lustre-small"});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind(), ErrorClass::kLimit) << plan.error().message();
}

TEST_F(StorageInfoTest, missing_machine_is_an_error_of_the_session) {
  const auto plan = plan_with("no-such-machine");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind(), ErrorClass::kNotFound);
  EXPECT_NE(plan.error().message().find("no-such-machine"), std::string::npos);
}

TEST_F(StorageInfoTest, invalid_machine_file_is_an_error_with_its_line) {
  std::ofstream(directory / "bad.toml") << kFarMachine << "bandwith = 3\n";
  const auto plan = plan_with(directory / "bad.toml");
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message().find("bad.toml"), std::string::npos);
  EXPECT_NE(plan.error().message().find("bandwith"), std::string::npos) << plan.error().message();
}

}  // namespace
}  // namespace forebay
