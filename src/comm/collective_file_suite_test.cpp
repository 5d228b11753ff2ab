// SPDX-License-Identifier: Apache-2.0
// What every implementation of CollectiveFile does.
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "comm/testing.hpp"

namespace forebay::comm {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CollectiveFileSuite);

namespace {

using File = std::unique_ptr<CollectiveFile>;

constexpr CollectiveOpenOptions kCreate{.intent = FileIntent::kCreate};

/// A file of the pattern, written by rank 0 without the code under test.
std::string create_file(const CommunicatorPtr& ranks,
                        const SharedDirectory& directory,
                        std::size_t size_bytes) {
  const std::string path = directory / "data";
  if (ranks->rank() == Rank{0}) {
    const Bytes bytes = pattern(0, size_bytes);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(size_bytes));
  }
  EXPECT_TRUE(ranks->barrier());
  return path;
}

/// The part of `rank`: more for higher ranks, nothing for rank 1.
std::size_t share_of(std::uint32_t rank) { return rank == 1 ? 0 : 1000 * rank + 777; }

std::uint64_t start_of(std::uint32_t rank) {
  std::uint64_t start = 0;
  for (std::uint32_t i = 0; i < rank; ++i)
    start += share_of(i);
  return start;
}

TEST_P(CollectiveFileSuite, collectively_written_data_is_read_by_all_ranks) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    const File file = value_or_throw(ranks->open_file(directory / "new", kCreate), "open");
    const std::uint32_t me = ranks->rank().number;
    const Bytes mine = pattern(start_of(me), share_of(me));
    EXPECT_EQ(value_or_throw(file->write_at_all(mine, start_of(me)), "write"), mine.size());
    ASSERT_TRUE(file->sync());
    ASSERT_TRUE(file->sync());
    const std::uint64_t size = start_of(ranks->size());
    EXPECT_EQ(value_or_throw(file->size(), "size"), size);

    const std::uint32_t other = (me + 1) % ranks->size();
    Bytes got(share_of(other));
    EXPECT_EQ(value_or_throw(file->read_at_all(got, start_of(other)), "read"), got.size());
    EXPECT_EQ(got, pattern(start_of(other), got.size()));
    Bytes whole(size);
    EXPECT_EQ(value_or_throw(file->read_at(whole, 0), "read"), size);
    EXPECT_EQ(whole, pattern(0, size));
    EXPECT_TRUE(file->close());
  });
}

/// Segments that are scattered in memory, and interleaved with those of other ranks in the file.
TEST_P(CollectiveFileSuite, segments_of_all_ranks_are_written_in_one_call) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    constexpr std::size_t kRounds = 5;
    const SharedDirectory directory(ranks);
    const File file = value_or_throw(ranks->open_file(directory / "new", kCreate), "open");
    const std::uint32_t me = ranks->rank().number;
    const std::uint64_t size = start_of(ranks->size());
    std::vector<Bytes> memory;
    std::vector<FileSegment> segments;
    for (std::size_t round = 0; round < kRounds; ++round)
      memory.push_back(pattern(round * size + start_of(me), share_of(me)));
    for (std::size_t round = 0; round < kRounds; ++round)
      segments.push_back({memory[round], round * size + start_of(me)});
    ASSERT_TRUE(file->write_segments_at_all(segments));
    ASSERT_TRUE(file->write_segments_at_all({}));
    ASSERT_TRUE(file->sync());
    ASSERT_TRUE(file->sync());
    Bytes whole(kRounds * size);
    EXPECT_EQ(value_or_throw(file->read_at(whole, 0), "read"), whole.size());
    EXPECT_EQ(whole, pattern(0, whole.size()));
    EXPECT_TRUE(file->close());
    EXPECT_FALSE(file->write_segments_at_all({})) << "closed";
  });
}

TEST_P(CollectiveFileSuite, split_calls_match_blocking_calls) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    const File file = value_or_throw(ranks->open_file(directory / "new", kCreate), "open");
    const std::uint32_t me = ranks->rank().number;
    const Bytes mine = pattern(start_of(me), share_of(me));
    ASSERT_TRUE(file->write_at_all_begin(mine, start_of(me)));
    EXPECT_EQ(value_or_throw(file->write_at_all_end(), "write"), mine.size());
    ASSERT_TRUE(file->sync());
    ASSERT_TRUE(file->sync());
    Bytes whole(start_of(ranks->size()));
    ASSERT_TRUE(file->read_at_all_begin(whole, 0));
    EXPECT_EQ(value_or_throw(file->read_at_all_end(), "read"), whole.size());
    EXPECT_EQ(whole, pattern(0, whole.size()));
    EXPECT_TRUE(file->close());
  });
}

TEST_P(CollectiveFileSuite, split_calls_out_of_order_are_refused) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    const File file =
        value_or_throw(ranks->open_file(create_file(ranks, directory, 1000), {}), "open");
    Bytes bytes(10);
    EXPECT_EQ(error_class(file->read_at_all_end()), ErrorClass::kInvalidArgument);
    ASSERT_TRUE(file->read_at_all_begin(bytes, 0));
    EXPECT_EQ(error_class(file->write_at_all_end()), ErrorClass::kInvalidArgument);
    EXPECT_EQ(error_class(file->read_at_all(bytes, 0)), ErrorClass::kInvalidArgument);
    EXPECT_EQ(error_class(file->sync()), ErrorClass::kInvalidArgument);
    EXPECT_EQ(value_or_throw(file->read_at_all_end(), "read"), bytes.size());
  });
}

TEST_P(CollectiveFileSuite, ranks_read_and_write_independently) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    const File file = value_or_throw(ranks->open_file(directory / "new", kCreate), "open");
    const std::uint32_t me = ranks->rank().number;
    if (me % 2 == 0) {
      const Bytes mine = pattern(start_of(me), share_of(me));
      EXPECT_EQ(value_or_throw(file->write_at(mine, start_of(me)), "write"), mine.size());
      Bytes got(mine.size());
      EXPECT_EQ(value_or_throw(file->read_at(got, start_of(me)), "read"), got.size());
      EXPECT_EQ(got, mine);
    }
  });
}

TEST_P(CollectiveFileSuite, read_past_end_is_short) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    const File file =
        value_or_throw(ranks->open_file(create_file(ranks, directory, 5000), {}), "open");
    Bytes bytes(3000);
    EXPECT_EQ(value_or_throw(file->read_at(bytes, 4000), "read"), 1000U);
    EXPECT_EQ(value_or_throw(file->read_at_all(bytes, 4900), "read"), 100U);
    EXPECT_EQ(value_or_throw(file->read_at_all(bytes, 5000), "read"), 0U);
    EXPECT_EQ(value_or_throw(file->read_at_all(bytes, std::uint64_t{1} << 50U), "read"), 0U);
    EXPECT_EQ(value_or_throw(file->read_at_all({}, 0), "read"), 0U);
    const bool first = ranks->rank() == Rank{0};  // one rank past the end
    EXPECT_EQ(value_or_throw(file->read_at_all(bytes, first ? 4999 : 0), "read"),
              first ? 1U : 3000U);
  });
}

TEST_P(CollectiveFileSuite, hints_are_accepted_and_unknown_ones_ignored) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    const CollectiveOpenOptions options{
        .hints = {{"romio_cb_read", "disable"}, {"cb_nodes", "1"}, {"unknown_hint", "value"}}};
    const File file =
        value_or_throw(ranks->open_file(create_file(ranks, directory, 5000), options), "open");
    Bytes bytes(5000);
    EXPECT_EQ(value_or_throw(file->read_at_all(bytes, 0), "read"), 5000U);
    EXPECT_EQ(bytes, pattern(0, 5000));
  });
}

TEST_P(CollectiveFileSuite, missing_file_fails_on_all_ranks) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    const auto file = ranks->open_file(directory / "missing", {});
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().kind(), ErrorClass::kNotFound);
    EXPECT_EQ(file.error().rank(), 0U);
    EXPECT_EQ(file.error().path(), directory / "missing");
    EXPECT_FALSE(std::filesystem::exists(directory / "missing"));
  });
}

TEST_P(CollectiveFileSuite, open_failure_on_one_rank_fails_on_all) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    const std::string path = create_file(ranks, directory, 100);
    const std::uint32_t last = ranks->size() - 1;
    const bool fails = ranks->rank() == Rank{last};
    const auto file = ranks->open_file(fails ? directory / "missing" : path, {});
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().rank(), last);
    EXPECT_EQ(file.error().error_number(), ENOENT);
    EXPECT_EQ(file.error().path(), directory / "missing");
  });
}

TEST_P(CollectiveFileSuite, directory_is_refused) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    const auto file = ranks->open_file(directory / ".", {});
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().kind(), ErrorClass::kInvalidArgument);
  });
}

TEST_P(CollectiveFileSuite, write_to_file_opened_for_reading_is_refused) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    const std::string path = create_file(ranks, directory, 100);
    const File file = value_or_throw(ranks->open_file(path, {}), "open");
    const Bytes bytes = pattern(7, 10);
    EXPECT_EQ(error_class(file->write_at(bytes, 0)), ErrorClass::kInvalidArgument);
    EXPECT_EQ(error_class(file->write_at_all(bytes, 0)), ErrorClass::kInvalidArgument);
    EXPECT_EQ(error_class(file->write_at_all_begin(bytes, 0)), ErrorClass::kInvalidArgument);
    EXPECT_EQ(file->write_at(bytes, 0).error().path(), path);
    Bytes got(100);
    EXPECT_EQ(value_or_throw(file->read_at_all(got, 0), "read"), 100U);
    EXPECT_EQ(got, pattern(0, 100));
  });
}

TEST_P(CollectiveFileSuite, create_keeps_existing_content) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    const std::string path = create_file(ranks, directory, 100);
    const File file = value_or_throw(ranks->open_file(path, kCreate), "open");
    EXPECT_EQ(value_or_throw(file->size(), "size"), 100U);
    Bytes bytes(100);
    EXPECT_EQ(value_or_throw(file->read_at_all(bytes, 0), "read"), 100U);
    EXPECT_EQ(bytes, pattern(0, 100));
  });
}

TEST_P(CollectiveFileSuite, closed_file_returns_closed_error) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    const File file =
        value_or_throw(ranks->open_file(create_file(ranks, directory, 100), {}), "open");
    ASSERT_TRUE(file->close());
    Bytes bytes(10);
    EXPECT_EQ(error_class(file->read_at(bytes, 0)), ErrorClass::kClosed);
    EXPECT_EQ(error_class(file->read_at_all(bytes, 0)), ErrorClass::kClosed);
    EXPECT_EQ(error_class(file->write_at_all_begin(bytes, 0)), ErrorClass::kClosed);
    EXPECT_EQ(error_class(file->size()), ErrorClass::kClosed);
    EXPECT_EQ(error_class(file->sync()), ErrorClass::kClosed);
    EXPECT_EQ(error_class(file->close()), ErrorClass::kClosed);
  });
}

TEST_P(CollectiveFileSuite, a_file_outlives_its_communicator) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    CommunicatorPtr own = value_or_throw(ranks->duplicate(), "duplicate");
    const File file =
        value_or_throw(own->open_file(create_file(ranks, directory, 100), {}), "open");
    own.reset();
    Bytes bytes(100);
    EXPECT_EQ(value_or_throw(file->read_at_all(bytes, 0), "read"), 100U);
  });
}

}  // namespace
}  // namespace forebay::comm
