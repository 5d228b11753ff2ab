// SPDX-License-Identifier: Apache-2.0
// A dropped file is cold, a warmed file is warm, and a file that cannot be cold is an error.
#include "tools/probe/page_cache.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/probe/file_system.hpp"

namespace forebay::probe {
namespace {

namespace fs = std::filesystem;

class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const fs::path& parent) {
    std::string name = (parent / "forebay-test-XXXXXX").string();
    path_ = mkdtemp(name.data()) == nullptr ? fs::path() : fs::path(name);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

fs::path write_file(const fs::path& directory, std::size_t size_bytes) {
  const fs::path path = directory / "data";
  std::ofstream(path, std::ios::binary) << std::string(size_bytes, 'x');
  return path;
}

bool is_memory_file_system(const fs::path& directory) {
  const std::string type = describe_file_system(directory).value().type;
  return type == "tmpfs" || type == "ramfs";
}

constexpr std::size_t kFileBytes = (8U << 20U) + 100;

TEST(PageCache, dropped_file_has_no_pages_and_warmed_file_all) {
  const TemporaryDirectory directory(fs::current_path());
  const fs::path path = write_file(directory.path(), kFileBytes);
  if (is_memory_file_system(directory.path())) GTEST_SKIP() << "the build directory is in memory";
  ASSERT_TRUE(drop_cached(path));
  EXPECT_LE(cached_fraction(path).value(), 0.001);
  ASSERT_TRUE(warm(path));
  EXPECT_GE(cached_fraction(path).value(), 0.999);
}

TEST(PageCache, drop_of_a_file_in_memory_fails) {
  if (!fs::exists("/dev/shm")) GTEST_SKIP() << "no /dev/shm";
  const TemporaryDirectory directory("/dev/shm");
  const fs::path path = write_file(directory.path(), kFileBytes);
  const Status dropped = drop_cached(path);
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().kind(), ErrorClass::kUnsupported);
  EXPECT_THAT(dropped.error().cause(), testing::HasSubstr("tmpfs"));
}

TEST(PageCache, empty_file_is_cold_and_warm) {
  const TemporaryDirectory directory(fs::current_path());
  const fs::path path = write_file(directory.path(), 0);
  EXPECT_TRUE(drop_cached(path));
  EXPECT_TRUE(warm(path));
  EXPECT_EQ(cached_fraction(path).value(), 0);
}

TEST(PageCache, missing_file_is_named_in_the_error) {
  const Result<double> fraction = cached_fraction("/no/such/file");
  ASSERT_FALSE(fraction);
  EXPECT_EQ(fraction.error().kind(), ErrorClass::kNotFound);
  EXPECT_EQ(fraction.error().path(), "/no/such/file");
}

}  // namespace
}  // namespace forebay::probe
