// SPDX-License-Identifier: Apache-2.0
#include "base/free_memory.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

/// A machine of files, with 8 GiB left.
class FreeMemory : public ::testing::Test {
 protected:
  FreeMemory() { write("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole(folder_ / path);
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  std::optional<std::uint64_t> found() const { return free_memory_bytes(folder_.path()); }

  const TemporaryFolder folder_;
};

constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;

TEST_F(FreeMemory, is_what_the_machine_has_where_no_group_limits_it) {
  EXPECT_EQ(found(), 8 * kGibibyte);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(found(), 8 * kGibibyte);
}

TEST_F(FreeMemory, is_what_the_strictest_group_leaves) {
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/step/memory.current", "4096\n");
  write("sys/fs/cgroup/job/memory.max", std::to_string(3 * kGibibyte));
  write("sys/fs/cgroup/job/memory.current", std::to_string(2 * kGibibyte));
  EXPECT_EQ(found(), kGibibyte);
  write("sys/fs/cgroup/job/memory.stat",
        "anon 5\ninactive_file " + std::to_string(kGibibyte / 2) + "\n");
  EXPECT_EQ(found(), kGibibyte + kGibibyte / 2) << "a cache that can be dropped";
  write("sys/fs/cgroup/job/memory.current", std::to_string(4 * kGibibyte));
  EXPECT_EQ(found(), 0U);
}

TEST_F(FreeMemory, is_limited_by_groups_of_the_first_version_too) {
  write("proc/self/cgroup", "7:cpu,cpuacct:/job\n6:memory:/job\n0::/other\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(2 * kGibibyte));
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(kGibibyte));
  EXPECT_EQ(found(), kGibibyte);
}

TEST_F(FreeMemory, is_that_of_the_container_where_its_group_is_the_root) {
  write("proc/self/cgroup", "0::/docker/0123\n");
  write("sys/fs/cgroup/memory.max", std::to_string(kGibibyte));
  write("sys/fs/cgroup/memory.current", "0\n");
  EXPECT_EQ(found(), kGibibyte);
}

TEST_F(FreeMemory, is_not_known_where_the_system_does_not_say) {
  write("proc/meminfo", "");
  EXPECT_FALSE(found());
}

TEST(FreeMemoryHere, is_some) { EXPECT_GT(free_memory_bytes().value_or(0), 0U); }

}  // namespace
}  // namespace forebay
