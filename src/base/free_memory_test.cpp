// SPDX-License-Identifier: Apache-2.0
#include "base/free_memory.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

/// Files that describe a machine with 8 GiB available.
class FreeMemoryTest : public ::testing::Test {
 protected:
  FreeMemoryTest() { write("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole(directory_ / path);
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  std::optional<std::uint64_t> free_bytes() const { return free_memory_bytes(directory_.path()); }

  const TemporaryDirectory directory_;
};

constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;

TEST_F(FreeMemoryTest, without_group_limits_is_what_the_machine_has) {
  EXPECT_EQ(free_bytes(), 8 * kGibibyte);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(free_bytes(), 8 * kGibibyte);
}

TEST_F(FreeMemoryTest, is_limited_by_the_strictest_group) {
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/step/memory.current", "4096\n");
  write("sys/fs/cgroup/job/memory.max", std::to_string(3 * kGibibyte));
  write("sys/fs/cgroup/job/memory.current", std::to_string(2 * kGibibyte));
  EXPECT_EQ(free_bytes(), kGibibyte);
  write("sys/fs/cgroup/job/memory.stat",
        "anon 5\ninactive_file " + std::to_string(kGibibyte / 2) + "\n");
  EXPECT_EQ(free_bytes(), kGibibyte + kGibibyte / 2) << "cache that can be dropped";
  write("sys/fs/cgroup/job/memory.current", std::to_string(4 * kGibibyte));
  EXPECT_EQ(free_bytes(), 0U);
}

TEST_F(FreeMemoryTest, is_limited_by_v1_groups) {
  write("proc/self/cgroup", "7:cpu,cpuacct:/job\n6:memory:/job\n0::/other\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(2 * kGibibyte));
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(kGibibyte));
  EXPECT_EQ(free_bytes(), kGibibyte);
}

TEST_F(FreeMemoryTest, in_a_container_is_limited_by_the_root_group) {
  write("proc/self/cgroup", "0::/docker/0123\n");
  write("sys/fs/cgroup/memory.max", std::to_string(kGibibyte));
  write("sys/fs/cgroup/memory.current", "0\n");
  EXPECT_EQ(free_bytes(), kGibibyte);
}

TEST_F(FreeMemoryTest, is_unknown_if_the_system_reports_nothing) {
  write("proc/meminfo", "");
  EXPECT_FALSE(free_bytes());
}

TEST(FreeMemory, is_positive) { EXPECT_GT(free_memory_bytes().value_or(0), 0U); }

}  // namespace
}  // namespace forebay
