// SPDX-License-Identifier: Apache-2.0
// Sessions plan by the machine that the options name, and say so; one that cannot be read is told.
#include <forebay/runtime.hpp>

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "runtime/testing.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

class KnownStorageTest : public ::testing::Test {
 protected:
  KnownStorageTest() { write_words(path, 8_MiB); }

  /// Of a session that is read through the page cache: that works on every disk.
  Result<ReadPlan> plan_with(const std::string& machine) const {
    return plan_with(RuntimeOptions{.machine = machine});
  }
  Result<ReadPlan> plan_with(const RuntimeOptions& options) const {
    Runtime runtime(options);
    const auto file = runtime.open(path);
    if (!file) return failure(file.error());
    return file->read_session({}, {.access = Access::kBuffered}).map([](const Session& session) {
      return session.plan();
    });
  }
  bool lies_in_memory() const {
    return storage::open_file(path).value()->file_system() == storage::FileSystem::kTmpfs;
  }

  storage::TemporaryFolder folder;
  const std::string path = folder / "words";
};

constexpr const char* kFarAway = R"(
format = 1
name = "far-away"
[[servers]]
latency_us = 20000
concurrency = 64
bandwidth_mb_per_s = 1000
)";

TEST_F(KnownStorageTest, a_machine_file_decides_how_much_is_asked_for) {
  if (lies_in_memory()) GTEST_SKIP() << "files of tests lie in memory here";
  std::ofstream(folder / "far.toml") << kFarAway;
  const auto far = plan_with(folder / "far.toml");
  ASSERT_TRUE(far) << far.error().message();
  const auto usual = plan_with("");
  ASSERT_TRUE(usual);
  EXPECT_GT(far->queue_depth * far->request_bytes, usual->queue_depth * usual->request_bytes);
  EXPECT_NE(far->reason.find("keep its storage busy"), std::string::npos) << far->reason;
  EXPECT_EQ(usual->reason.find("keep its storage busy"), std::string::npos);
}

TEST_F(KnownStorageTest, a_machine_that_forebay_ships_is_known_by_its_name) {
  const auto plan = plan_with("lustre-small");
  EXPECT_TRUE(plan) << plan.error().message();
}

// Of a quarter of 2 bytes the model made requests of no bytes, and divided by them.
TEST_F(KnownStorageTest, a_tiny_budget_is_an_error_and_no_crash) {
  const auto plan = plan_with(RuntimeOptions{.budget_bytes = 2, .machine = "lustre-small"});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind(), ErrorClass::kLimit) << plan.error().message();
}

TEST_F(KnownStorageTest, a_machine_that_does_not_exist_is_an_error_of_the_session) {
  const auto plan = plan_with("no-such-machine");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind(), ErrorClass::kNotFound);
  EXPECT_NE(plan.error().message().find("no-such-machine"), std::string::npos);
}

TEST_F(KnownStorageTest, a_machine_file_with_a_mistake_is_told_with_its_line) {
  std::ofstream(folder / "bad.toml") << kFarAway << "bandwith = 3\n";
  const auto plan = plan_with(folder / "bad.toml");
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message().find("bad.toml"), std::string::npos);
  EXPECT_NE(plan.error().message().find("bandwith"), std::string::npos) << plan.error().message();
}

}  // namespace
}  // namespace forebay
