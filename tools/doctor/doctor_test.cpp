// SPDX-License-Identifier: Apache-2.0
// The doctor finds what every machine has, keeps to its limits, and leaves no file in the
// directory.
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tools/doctor/examine.hpp"
#include "tools/doctor/measure.hpp"
#include "tools/doctor/topology.hpp"

namespace forebay::doctor {
namespace {

namespace fs = std::filesystem;

class Doctor : public testing::Test {
 protected:
  Doctor() {
    std::string name = (fs::current_path() / "forebay-test-XXXXXX").string();
    directory_ = mkdtemp(name.data()) == nullptr ? fs::path() : fs::path(name);
  }
  ~Doctor() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  fs::path directory_;
};

TEST(Topology, has_one_or_more_of_each) {
  const Topology topology = find_topology();
  EXPECT_GE(topology.packages, 1U);
  EXPECT_GE(topology.cores, 1U);
  EXPECT_GE(topology.hardware_threads, topology.cores);
}

TEST(Topology, summary_counts_in_words) {
  EXPECT_EQ(summary_of({.packages = 1, .numa_nodes = 2, .cores = 8, .hardware_threads = 16}),
            "1 package, 2 NUMA nodes, 8 cores, 16 hardware threads");
}

TEST_F(Doctor, examination_has_all_parts) {
  const auto document = examine(directory_);
  ASSERT_TRUE(document) << document.error().message();
  for (const char* key :
       {"machine", "load", "topology", "io_uring", "limits", "page_cache", "folder", "backends"}) {
    EXPECT_TRUE(document->contains(key)) << key;
  }
  EXPECT_FALSE(document->at("io_uring").at("reason").get<std::string>().empty());
  EXPECT_TRUE(document->at("folder").at("writable").get<bool>());
}

TEST_F(Doctor, missing_directory_is_named_in_the_error) {
  const auto document = examine(directory_ / "none");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().kind(), ErrorClass::kNotFound);
}

TEST_F(Doctor, measurement_keeps_its_limits_and_leaves_no_file) {
  std::vector<std::uint64_t> steps;
  const MeasureLimits limits{.file_bytes_max = 8U << 20U, .seconds_max = 1};
  const auto measured =
      measure_storage(directory_, limits, [&steps](const probe::ProgressStep& step) {
        steps.push_back(step.done);
        return true;
      });
  ASSERT_TRUE(measured) << measured.error().message();
  EXPECT_LE(measured->file_bytes, limits.file_bytes_max);
  EXPECT_TRUE(fs::is_empty(directory_));
  EXPECT_EQ(measured->values.front().id, "write");
  for (const Measurement& one : measured->values)
    EXPECT_GT(one.value, 0) << one.id;
  if (measured->not_measured.empty()) {
    EXPECT_THAT(steps, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(measured->values.size(), 7U);
    EXPECT_GE(measured->values.back().high, measured->values.back().value);
  }
}

TEST_F(Doctor, directory_in_memory_is_measured_without_direct_reads_or_with_all) {
  if (!fs::exists("/dev/shm")) GTEST_SKIP() << "no /dev/shm";
  const auto measured =
      measure_storage("/dev/shm", {.file_bytes_max = 4U << 20U, .seconds_max = 1}, {});
  ASSERT_TRUE(measured) << measured.error().message();
  EXPECT_EQ(measured->values.size(), measured->not_measured.empty() ? 7U : 2U);
}

TEST_F(Doctor, measurement_of_missing_directory_names_it) {
  const auto measured = measure_storage(directory_ / "none", {}, {});
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().kind(), ErrorClass::kNotFound);
  EXPECT_EQ(measured.error().path(), (directory_ / "none").string());
}

}  // namespace
}  // namespace forebay::doctor
