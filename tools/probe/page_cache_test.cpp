// SPDX-License-Identifier: Apache-2.0
// Dropped is cold, warmed is warm, and where a file cannot be cold the caller is told so.
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

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& parent) {
    std::string name = (parent / "forebay-test-XXXXXX").string();
    path_ = mkdtemp(name.data()) == nullptr ? fs::path() : fs::path(name);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

fs::path write_file(const fs::path& folder, std::size_t size_bytes) {
  const fs::path path = folder / "data";
  std::ofstream(path, std::ios::binary) << std::string(size_bytes, 'x');
  return path;
}

bool lives_in_memory(const fs::path& folder) {
  const std::string type = describe_file_system(folder).value().type;
  return type == "tmpfs" || type == "ramfs";
}

constexpr std::size_t kFileBytes = (8U << 20U) + 100;

TEST(PageCache, dropped_file_has_no_pages_and_warmed_file_all) {
  const TemporaryFolder folder(fs::current_path());
  const fs::path path = write_file(folder.path(), kFileBytes);
  if (lives_in_memory(folder.path())) GTEST_SKIP() << "the build folder lies in memory";
  ASSERT_TRUE(drop_cached(path));
  EXPECT_LE(cached_fraction(path).value(), 0.001);
  ASSERT_TRUE(warm(path));
  EXPECT_GE(cached_fraction(path).value(), 0.999);
}

TEST(PageCache, drop_says_that_a_file_in_memory_stays_there) {
  if (!fs::exists("/dev/shm")) GTEST_SKIP() << "no /dev/shm";
  const TemporaryFolder folder("/dev/shm");
  const fs::path path = write_file(folder.path(), kFileBytes);
  const Status dropped = drop_cached(path);
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().kind(), ErrorClass::kUnsupported);
  EXPECT_THAT(dropped.error().cause(), testing::HasSubstr("tmpfs"));
}

TEST(PageCache, empty_file_is_cold_and_warm_at_once) {
  const TemporaryFolder folder(fs::current_path());
  const fs::path path = write_file(folder.path(), 0);
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
