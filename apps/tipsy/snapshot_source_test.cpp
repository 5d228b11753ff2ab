// SPDX-License-Identifier: Apache-2.0
// The contract of SnapshotSource, tested with both sources.
#include "tipsy/snapshot_source.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "runner/task.hpp"
#include "tipsy/testing.hpp"

namespace forebay::tipsy {
namespace {

class SnapshotSourceTest : public ::testing::TestWithParam<SourceKind> {
 protected:
  std::string make_file(std::size_t size_bytes) {
    std::vector<std::byte> bytes(size_bytes);
    for (std::size_t i = 0; i < size_bytes; ++i)
      bytes[i] = std::byte(i * i >> 3U);
    testing::write_file(directory_.file("data"), bytes);
    return directory_.file("data");
  }
  Result<std::unique_ptr<SnapshotSource>> open(const std::string& path,
                                               std::optional<std::uint64_t> budget = std::nullopt) {
    return open_source(path, {GetParam(), budget});
  }

  testing::TempDirectory directory_;
};

runner::Task read_all(const SnapshotSource& source, ByteRange range, std::vector<std::byte>& into) {
  const auto reader = source.make_reader(range);
  while (!reader->is_done()) {
    const Result<DataChunk> chunk = co_await reader->next_chunk();
    if (!chunk) co_return failure(chunk.error());
    EXPECT_FALSE(chunk->bytes().empty());
    into.insert(into.end(), chunk->bytes().begin(), chunk->bytes().end());
  }
  co_return Status{};
}

TEST_P(SnapshotSourceTest, tasks_get_the_bytes_of_their_ranges) {
  const std::string path = make_file(3'000'001);
  const auto expected = testing::read_file(path);
  for (const std::uint64_t shares : {1U, 3U, 100U}) {
    const auto source = open(path);
    ASSERT_TRUE(source) << source.error().message();
    EXPECT_EQ((*source)->file_bytes(), expected.size());
    ASSERT_TRUE((*source)->begin_session({0, expected.size()}));
    std::vector<std::vector<std::byte>> parts(shares);
    runner::TaskGroup group((*source)->loop());
    for (std::uint64_t i = 0; i < shares; ++i) {
      const std::uint64_t first = expected.size() * i / shares;
      const std::uint64_t end = expected.size() * (i + 1) / shares;
      group.spawn(read_all(**source, {first, end - first}, parts[i]));
    }
    const Status ran = group.run(2);
    ASSERT_TRUE(ran) << ran.error().message();
    std::vector<std::byte> joined;
    for (const auto& part : parts)
      joined.insert(joined.end(), part.begin(), part.end());
    EXPECT_TRUE(joined == expected);
  }
}

TEST_P(SnapshotSourceTest, read_ranges_concatenates_scattered_ranges) {
  const std::string path = make_file(200'000);
  const auto expected = testing::read_file(path);
  const auto source = open(path);
  ASSERT_TRUE(source);
  const std::vector<ByteRange> ranges{{150'000, 10}, {0, 3}, {3, 0}, {60'000, 70'000}};
  std::vector<std::byte> bytes(70'013);
  const Status read_status = (*source)->read_ranges(ranges, bytes);
  ASSERT_TRUE(read_status) << read_status.error().message();
  std::size_t place = 0;
  for (const ByteRange& range : ranges) {
    EXPECT_TRUE(std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(place),
                           bytes.begin() + static_cast<std::ptrdiff_t>(place + range.size),
                           expected.begin() + static_cast<std::ptrdiff_t>(range.offset)));
    place += range.size;
  }
}

TEST_P(SnapshotSourceTest, missing_file_is_not_found_and_not_created) {
  const auto source = open(directory_.file("none"));
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().kind(), ErrorClass::kNotFound);
  EXPECT_EQ(source.error().path(), directory_.file("none"));
  EXPECT_EQ(directory_.file_count(), 0U);
}

TEST_P(SnapshotSourceTest, truncation_during_a_scan_is_an_error_with_the_path) {
  const std::string path = make_file(2'000'000);
  const auto source = open(path, 1U << 20U);
  ASSERT_TRUE(source) << source.error().message();
  std::filesystem::resize_file(path, 1000);
  std::vector<std::byte> bytes;
  Status ran = (*source)->begin_session({0, 2'000'000});
  if (ran) {
    runner::TaskGroup group((*source)->loop());
    group.spawn(read_all(**source, {1'500'000, 500'000}, bytes));
    ran = group.run(1);
  }
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorClass::kShortFile) << ran.error().message();
  EXPECT_EQ(ran.error().path(), path);
}

TEST_P(SnapshotSourceTest, small_budget_reads_everything) {
  const std::string path = make_file(1'500'000);
  const auto source = open(path, 256U << 10U);
  ASSERT_TRUE(source) << source.error().message();
  std::vector<std::byte> looked_at(500'000);
  const ByteRange half{700'000, looked_at.size()};
  for (int i = 0; i < 2; ++i) {
    const Status read_status = (*source)->read_ranges({&half, 1}, looked_at);
    ASSERT_TRUE(read_status) << read_status.error().message();
  }
  const Status begun = (*source)->begin_session({0, 1'500'000});
  ASSERT_TRUE(begun) << begun.error().message();
  std::vector<std::byte> bytes;
  runner::TaskGroup group((*source)->loop());
  group.spawn(read_all(**source, {0, 1'500'000}, bytes));
  const Status ran = group.run(1);
  ASSERT_TRUE(ran) << ran.error().message();
  EXPECT_TRUE(bytes == testing::read_file(path));
}

INSTANTIATE_TEST_SUITE_P(both,
                         SnapshotSourceTest,
                         ::testing::Values(SourceKind::kForebay, SourceKind::kIfstream),
                         [](const auto& made) { return std::string(name_of(made.param)); });

}  // namespace
}  // namespace forebay::tipsy
