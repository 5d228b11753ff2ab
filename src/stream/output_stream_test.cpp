// SPDX-License-Identifier: Apache-2.0
// What a stream does is the same on every backend, directly or through the page cache, and however
// storage behaves: the files have every byte, and end where they should.
#include <forebay/output_stream.hpp>

#include <numeric>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "stream/testing.hpp"

namespace forebay::stream {
namespace {

TEST_P(StreamTest, a_file_has_every_byte) {
  OutputStream out = site.make_stream();
  const OutputFile file = must(out.create(site / "data"));
  EXPECT_TRUE(works(submit_all(out, file, {0, 20 * kBuffer})));
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(site / "data", 20 * kBuffer));
}

TEST_P(StreamTest, a_file_ends_where_the_last_byte_was_written) {
  for (const std::uint64_t expected : {0ULL, 1000ULL, 700'000ULL, 3'000'000ULL}) {
    OutputStream out = site.make_stream();
    const OutputFile file = must(out.create(site / "data", expected));
    EXPECT_TRUE(works(submit_all(out, file, {0, 700'001})));
    EXPECT_TRUE(works(out.drain()));
    EXPECT_TRUE(is_pattern(site / "data", 700'001)) << expected << " were expected";
  }
}

TEST_P(StreamTest, pieces_of_any_length_in_any_order_make_the_file) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 5; ++round) {
    const std::uint64_t size = 1 + random() % 600'000;
    std::vector<std::uint64_t> borders{0, size};
    while (borders.size() < 60)
      borders.push_back(random() % size);
    for (std::uint64_t at = 0; at < size; at += kBuffer)
      borders.push_back(at);
    std::ranges::sort(borders);
    std::vector<std::size_t> order(borders.size() - 1);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    OutputStream out = site.make_stream({.buffers = 4});
    const OutputFile file = must(out.create(site / "data"));
    for (const std::size_t i : order) {
      ASSERT_TRUE(works(submit_pattern(out, file, {borders[i], borders[i + 1] - borders[i]})));
    }
    ASSERT_TRUE(works(out.drain()));
    ASSERT_TRUE(is_pattern(site / "data", size));
  }
}

TEST_P(StreamTest, memory_of_the_caller_is_written_at_any_offset) {
  OutputStream out = site.make_stream();
  const OutputFile file = must(out.create(site / "data"));
  const std::vector<std::byte> bytes = pattern(1'000'000);
  EXPECT_TRUE(works(out.write(file, 0, std::span(bytes).first(10))));
  EXPECT_TRUE(works(out.write(file, 10, std::span(bytes).subspan(10))));
  EXPECT_TRUE(works(out.write(file, 77, {})));
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(site / "data", 1'000'000));
  EXPECT_EQ(out.report().copied_bytes, 0U) << "acquire_at() should have seen to it";
}

TEST_P(StreamTest, buffers_that_were_acquired_for_their_place_are_not_moved) {
  OutputStream out = site.make_stream();
  const OutputFile file = must(out.create(site / "data"));
  for (std::uint64_t at = 0; at < 10 * kBuffer; at += kBuffer - 1000) {
    auto buffer = must(out.acquire_at(file, at));
    ASSERT_EQ(buffer.bytes().size(), kBuffer);
    fill_pattern(buffer.bytes().first(kBuffer - 1000), at);
    EXPECT_TRUE(works(out.submit(std::move(buffer), file, at, kBuffer - 1000)));
  }
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(site / "data", 11 * (kBuffer - 1000)));
  EXPECT_EQ(out.report().copied_bytes, 0U);
}

TEST_P(StreamTest, a_stream_goes_on_after_a_drain) {
  OutputStream out = site.make_stream();
  const OutputFile file = must(out.create(site / "data"));
  std::uint64_t size = 0;
  for (const std::uint64_t more : {1ULL, 5000ULL, 100'000ULL, 7ULL, 4096ULL, 300'000ULL}) {
    EXPECT_TRUE(works(submit_all(out, file, {size, more})));
    size += more;
    EXPECT_TRUE(works(out.drain()));
    ASSERT_TRUE(is_pattern(site / "data", size));
  }
  EXPECT_TRUE(works(out.sync()));
}

TEST_P(StreamTest, what_was_there_is_gone_or_kept_as_asked) {
  storage::write_pattern_file(site / "data", 300'000);
  {
    OutputStream out = site.make_stream();
    const OutputFile file = must(out.create(site / "data", {.existing = Existing::kKeep}));
    EXPECT_TRUE(works(submit_all(out, file, {100'001, 70'000})));
    EXPECT_TRUE(works(out.drain()));
    EXPECT_TRUE(is_pattern(site / "data", 300'000));
    EXPECT_TRUE(works(submit_all(out, file, {300'000, 50'000})));
    EXPECT_TRUE(works(out.drain()));
    EXPECT_TRUE(is_pattern(site / "data", 350'000));
  }
  OutputStream out = site.make_stream();
  const OutputFile file = must(out.create(site / "data"));
  EXPECT_TRUE(works(submit_all(out, file, {0, 10})));
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(site / "data", 10));
}

TEST_P(StreamTest, gaps_are_zero) {
  OutputStream out = site.make_stream();
  const OutputFile file = must(out.create(site / "data"));
  EXPECT_TRUE(works(submit_pattern(out, file, {100'000, 10})));
  EXPECT_TRUE(works(submit_pattern(out, file, {50, 10})));
  EXPECT_TRUE(works(out.drain()));
  auto content = content_of(site / "data");
  ASSERT_EQ(content.size(), 100'010U);
  EXPECT_EQ(matching_pattern(std::span(content).subspan(50, 10), 50), 10U);
  EXPECT_EQ(matching_pattern(std::span(content).subspan(100'000), 100'000), 10U);
  std::fill_n(content.begin() + 50, 10, std::byte{0});
  std::fill_n(content.begin() + 100'000, 10, std::byte{0});
  EXPECT_EQ(std::ranges::count(content, std::byte{0}), 100'010);
}

TEST_P(StreamTest, an_empty_file_is_empty) {
  OutputStream out = site.make_stream();
  const OutputFile file = must(out.create(site / "data", 1'000'000));
  EXPECT_TRUE(works(submit_pattern(out, file, {5, 0})));
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(site / "data", 0));
}

TEST_P(StreamTest, many_files_at_once_are_not_mixed_up) {
  OutputStream out = site.make_stream({.buffers = 5});
  std::vector<OutputFile> files;
  for (int i = 0; i < 10; ++i)
    files.push_back(must(out.create(site / ("data" + std::to_string(i)))));
  for (std::uint64_t step = 0; step < 8; ++step) {
    for (const OutputFile& file : files) {
      const std::uint64_t piece = 10'000 + file.number();
      EXPECT_TRUE(works(submit_pattern(out, file, {step * piece, piece})));
    }
  }
  EXPECT_TRUE(works(files[3].drain()));
  EXPECT_TRUE(is_pattern(site / "data3", std::size_t{8} * 10'003));
  EXPECT_TRUE(works(out.drain()));
  for (const OutputFile& file : files)
    EXPECT_TRUE(is_pattern(file.path(), 8 * (10'000ULL + file.number())));
}

TEST_P(StreamTest, many_threads_fill_buffers_of_one_stream) {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kPieces = 40;
  constexpr std::uint64_t kPiece = 10'007;
  OutputStream out = site.make_stream({.buffers = 3});
  const OutputFile file = must(out.create(site / "data"));
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::uint64_t i = thread; i < kPieces; i += kThreads)
          EXPECT_TRUE(works(submit_pattern(out, file, {i * kPiece, kPiece})));
      });
    }
  }
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(site / "data", kPieces * kPiece));
}

TEST_P(StreamTest, two_streams_write_parts_of_one_file) {
  OutputStream first = site.make_stream();
  OutputStream second = site.make_stream();
  const OutputFile here = must(first.create(site / "data"));
  const OutputFile there = must(second.create(site / "data", {.existing = Existing::kKeep}));
  for (std::uint64_t i = 0; i < 20; ++i) {
    OutputStream& out = i % 2 == 0 ? first : second;
    EXPECT_TRUE(works(submit_pattern(out, i % 2 == 0 ? here : there, {i * 5000, 5000})));
  }
  EXPECT_TRUE(works(first.drain()));
  EXPECT_TRUE(works(second.drain()));
  EXPECT_TRUE(is_pattern(site / "data", 100'000));
}

TEST_P(StreamTest, space_of_a_file_for_other_processes_lies_beyond_its_end_until_it_is_published) {
  const auto space_of = [](const std::string& path) {
    struct stat facts{};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0);
    return static_cast<std::uint64_t>(facts.st_blocks) * 512;
  };
  OutputStream out = site.make_stream();
  const OutputFile file = must(out.create(site / "data", {.expected_bytes = 4_MiB,
                                                          .publication = Publication::kWhenComplete,
                                                          .writers = Writers::kOtherProcesses}));
  if (file.plan().preallocation == Preallocation::kNone) GTEST_SKIP() << "no space is reserved";
  EXPECT_EQ(file.plan().preallocation, Preallocation::kExpected);
  EXPECT_TRUE(works(submit_all(out, file, {0, 5000})));
  EXPECT_TRUE(works(file.sync()));
  EXPECT_TRUE(is_pattern(file.written_path(), 5000));
  EXPECT_GE(space_of(file.written_path()), 4_MiB);
  EXPECT_TRUE(works(file.publish()));
  EXPECT_TRUE(is_pattern(site / "data", 5000));
  EXPECT_LT(space_of(site / "data"), 1_MiB);
}

TEST_P(StreamTest, completions_come_in_order_if_that_is_asked_for) {
  OutputStream out = site.make_stream({.buffers = 6, .completions = Completions::kInOrder});
  const OutputFile file = must(out.create(site / "data"));
  EXPECT_TRUE(works(submit_all(out, file, {0, 30 * kBuffer})));
  EXPECT_TRUE(works(out.drain()));
  std::vector<Written> all_of_them(7);
  std::uint64_t next = 0;
  while (const std::size_t count = must(out.written(all_of_them))) {
    for (const Written& entry : std::span(all_of_them).first(count)) {
      EXPECT_EQ(entry.submission, next);
      EXPECT_EQ(entry.offset_bytes, next * kBuffer);
      EXPECT_EQ(entry.size_bytes, kBuffer);
      ++next;
    }
  }
  EXPECT_EQ(next, 30U);
}

TEST_P(StreamTest, completions_in_any_order_are_each_told_once) {
  OutputStream out = site.make_stream({.buffers = 6, .completions = Completions::kAnyOrder});
  const OutputFile file = must(out.create(site / "data"));
  EXPECT_TRUE(works(submit_all(out, file, {0, 30 * kBuffer})));
  EXPECT_TRUE(works(out.drain()));
  std::vector<Written> entries(100);
  ASSERT_EQ(must(out.written(entries)), 30U);
  std::set<std::uint64_t> seen;
  for (const Written& entry : std::span(entries).first(30))
    seen.insert(entry.submission);
  EXPECT_EQ(seen.size(), 30U);
}

TEST_P(StreamTest, the_report_has_every_byte) {
  OutputStream out = site.make_stream({.request_bytes = 16_KiB});
  const OutputFile file = must(out.create(site / "data"));
  EXPECT_TRUE(works(submit_all(out, file, {0, 10 * kBuffer})));
  EXPECT_TRUE(works(out.drain()));
  const StreamReport report = out.report();
  EXPECT_EQ(report.buffers, 10U);
  EXPECT_EQ(report.bytes, 10 * kBuffer);
  EXPECT_EQ(report.requests, 40U);
  EXPECT_GT(report.elapsed_s, 0);
  EXPECT_GT(report.write_s, 0);
  EXPECT_GT(report.efficiency, 0);
  ASSERT_EQ(report.devices.size(), 1U);
  EXPECT_EQ(report.devices[0].access, GetParam().access);
  EXPECT_EQ(report.devices[0].bytes, 10 * kBuffer);
  EXPECT_FALSE(report.devices[0].backend.empty());
}

INSTANTIATE_TEST_SUITE_P(All, StreamTest, ::testing::ValuesIn(all_ways()), way_name);

}  // namespace
}  // namespace forebay::stream
