// SPDX-License-Identifier: Apache-2.0
// A stream does the same on every backend, direct or through the page cache, and with any behavior
// of storage: files have every byte, and the right length.
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

TEST_P(StreamTest, file_has_every_byte) {
  OutputStream out = fixture.make_stream();
  const OutputFile file = must(out.create(fixture / "data"));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 20 * kBuffer})));
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", 20 * kBuffer));
}

TEST_P(StreamTest, file_ends_at_the_last_written_byte) {
  for (const std::uint64_t expected : {0ULL, 1000ULL, 700'000ULL, 3'000'000ULL}) {
    OutputStream out = fixture.make_stream();
    const OutputFile file = must(out.create(fixture / "data", expected));
    EXPECT_TRUE(is_ok(submit_all(out, file, {0, 700'001})));
    EXPECT_TRUE(is_ok(out.drain()));
    EXPECT_TRUE(is_pattern(fixture / "data", 700'001)) << expected << " were expected";
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
    OutputStream out = fixture.make_stream({.buffers = 4});
    const OutputFile file = must(out.create(fixture / "data"));
    for (const std::size_t i : order) {
      ASSERT_TRUE(is_ok(submit_pattern(out, file, {borders[i], borders[i + 1] - borders[i]})));
    }
    ASSERT_TRUE(is_ok(out.drain()));
    ASSERT_TRUE(is_pattern(fixture / "data", size));
  }
}

TEST_P(StreamTest, memory_of_the_caller_is_written_at_any_offset) {
  OutputStream out = fixture.make_stream();
  const OutputFile file = must(out.create(fixture / "data"));
  const std::vector<std::byte> bytes = pattern(1'000'000);
  EXPECT_TRUE(is_ok(out.write(file, 0, std::span(bytes).first(10))));
  EXPECT_TRUE(is_ok(out.write(file, 10, std::span(bytes).subspan(10))));
  EXPECT_TRUE(is_ok(out.write(file, 77, {})));
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", 1'000'000));
  EXPECT_EQ(out.report().copied_bytes, 0U) << "acquire_at() aligns the buffer";
}

TEST_P(StreamTest, buffers_acquired_for_an_offset_are_not_moved) {
  OutputStream out = fixture.make_stream();
  const OutputFile file = must(out.create(fixture / "data"));
  for (std::uint64_t at = 0; at < 10 * kBuffer; at += kBuffer - 1000) {
    auto buffer = must(out.acquire_at(file, at));
    ASSERT_EQ(buffer.bytes().size(), kBuffer);
    fill_pattern(buffer.bytes().first(kBuffer - 1000), at);
    EXPECT_TRUE(is_ok(out.submit(std::move(buffer), file, at, kBuffer - 1000)));
  }
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", 11 * (kBuffer - 1000)));
  EXPECT_EQ(out.report().copied_bytes, 0U);
}

TEST_P(StreamTest, stream_continues_after_a_drain) {
  OutputStream out = fixture.make_stream();
  const OutputFile file = must(out.create(fixture / "data"));
  std::uint64_t size = 0;
  for (const std::uint64_t more : {1ULL, 5000ULL, 100'000ULL, 7ULL, 4096ULL, 300'000ULL}) {
    EXPECT_TRUE(is_ok(submit_all(out, file, {size, more})));
    size += more;
    EXPECT_TRUE(is_ok(out.drain()));
    ASSERT_TRUE(is_pattern(fixture / "data", size));
  }
  EXPECT_TRUE(is_ok(out.sync()));
}

TEST_P(StreamTest, existing_content_is_replaced_or_kept) {
  storage::write_pattern_file(fixture / "data", 300'000);
  {
    OutputStream out = fixture.make_stream();
    const OutputFile file =
        must(out.create(fixture / "data", {.existing_content = ExistingContent::kKeep}));
    EXPECT_TRUE(is_ok(submit_all(out, file, {100'001, 70'000})));
    EXPECT_TRUE(is_ok(out.drain()));
    EXPECT_TRUE(is_pattern(fixture / "data", 300'000));
    EXPECT_TRUE(is_ok(submit_all(out, file, {300'000, 50'000})));
    EXPECT_TRUE(is_ok(out.drain()));
    EXPECT_TRUE(is_pattern(fixture / "data", 350'000));
  }
  OutputStream out = fixture.make_stream();
  const OutputFile file = must(out.create(fixture / "data"));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 10})));
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", 10));
}

TEST_P(StreamTest, gaps_are_zero) {
  OutputStream out = fixture.make_stream();
  const OutputFile file = must(out.create(fixture / "data"));
  EXPECT_TRUE(is_ok(submit_pattern(out, file, {100'000, 10})));
  EXPECT_TRUE(is_ok(submit_pattern(out, file, {50, 10})));
  EXPECT_TRUE(is_ok(out.drain()));
  auto content = content_of(fixture / "data");
  ASSERT_EQ(content.size(), 100'010U);
  EXPECT_EQ(matching_pattern(std::span(content).subspan(50, 10), 50), 10U);
  EXPECT_EQ(matching_pattern(std::span(content).subspan(100'000), 100'000), 10U);
  std::fill_n(content.begin() + 50, 10, std::byte{0});
  std::fill_n(content.begin() + 100'000, 10, std::byte{0});
  EXPECT_EQ(std::ranges::count(content, std::byte{0}), 100'010);
}

TEST_P(StreamTest, an_empty_file_is_empty) {
  OutputStream out = fixture.make_stream();
  const OutputFile file = must(out.create(fixture / "data", 1'000'000));
  EXPECT_TRUE(is_ok(submit_pattern(out, file, {5, 0})));
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", 0));
}

TEST_P(StreamTest, many_files_at_once_are_not_mixed_up) {
  OutputStream out = fixture.make_stream({.buffers = 5});
  std::vector<OutputFile> files;
  for (int i = 0; i < 10; ++i)
    files.push_back(must(out.create(fixture / ("data" + std::to_string(i)))));
  for (std::uint64_t step = 0; step < 8; ++step) {
    for (const OutputFile& file : files) {
      const std::uint64_t piece = 10'000 + file.number();
      EXPECT_TRUE(is_ok(submit_pattern(out, file, {step * piece, piece})));
    }
  }
  EXPECT_TRUE(is_ok(files[3].drain()));
  EXPECT_TRUE(is_pattern(fixture / "data3", std::size_t{8} * 10'003));
  EXPECT_TRUE(is_ok(out.drain()));
  for (const OutputFile& file : files)
    EXPECT_TRUE(is_pattern(file.path(), 8 * (10'000ULL + file.number())));
}

TEST_P(StreamTest, many_threads_fill_buffers_of_one_stream) {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kPieces = 40;
  constexpr std::uint64_t kPiece = 10'007;
  OutputStream out = fixture.make_stream({.buffers = 3});
  const OutputFile file = must(out.create(fixture / "data"));
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::uint64_t i = thread; i < kPieces; i += kThreads)
          EXPECT_TRUE(is_ok(submit_pattern(out, file, {i * kPiece, kPiece})));
      });
    }
  }
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", kPieces * kPiece));
}

TEST_P(StreamTest, two_streams_write_parts_of_one_file) {
  OutputStream first = fixture.make_stream();
  OutputStream second = fixture.make_stream();
  const OutputFile here = must(first.create(fixture / "data"));
  const OutputFile there =
      must(second.create(fixture / "data", {.existing_content = ExistingContent::kKeep}));
  for (std::uint64_t i = 0; i < 20; ++i) {
    OutputStream& out = i % 2 == 0 ? first : second;
    EXPECT_TRUE(is_ok(submit_pattern(out, i % 2 == 0 ? here : there, {i * 5000, 5000})));
  }
  EXPECT_TRUE(is_ok(first.drain()));
  EXPECT_TRUE(is_ok(second.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", 100'000));
}

TEST_P(StreamTest, shared_file_keeps_reserved_space_until_it_is_published) {
  const auto space_of = [](const std::string& path) {
    struct stat facts{};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0);
    return static_cast<std::uint64_t>(facts.st_blocks) * 512;
  };
  OutputStream out = fixture.make_stream();
  const OutputFile file =
      must(out.create(fixture / "data", {.expected_bytes = 4_MiB,
                                         .visibility = FileVisibility::kOnPublish,
                                         .sharing = FileSharing::kShared}));
  if (file.plan().preallocation == Preallocation::kNone) GTEST_SKIP() << "no space is reserved";
  EXPECT_EQ(file.plan().preallocation, Preallocation::kExpected);
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 5000})));
  EXPECT_TRUE(is_ok(file.sync()));
  EXPECT_TRUE(is_pattern(file.write_path(), 5000));
  EXPECT_GE(space_of(file.write_path()), 4_MiB);
  EXPECT_TRUE(is_ok(file.publish()));
  EXPECT_TRUE(is_pattern(fixture / "data", 5000));
  EXPECT_LT(space_of(fixture / "data"), 1_MiB);
}

TEST_P(StreamTest, completions_are_in_order_if_requested) {
  OutputStream out =
      fixture.make_stream({.buffers = 6, .completion_order = CompletionOrder::kInOrder});
  const OutputFile file = must(out.create(fixture / "data"));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 30 * kBuffer})));
  EXPECT_TRUE(is_ok(out.drain()));
  std::vector<WriteCompletion> all_of_them(7);
  std::uint64_t next = 0;
  while (const std::size_t count = must(out.poll_completions(all_of_them))) {
    for (const WriteCompletion& entry : std::span(all_of_them).first(count)) {
      EXPECT_EQ(entry.submission, next);
      EXPECT_EQ(entry.offset_bytes, next * kBuffer);
      EXPECT_EQ(entry.size_bytes, kBuffer);
      ++next;
    }
  }
  EXPECT_EQ(next, 30U);
}

TEST_P(StreamTest, completions_in_any_order_are_each_reported_once) {
  OutputStream out =
      fixture.make_stream({.buffers = 6, .completion_order = CompletionOrder::kAnyOrder});
  const OutputFile file = must(out.create(fixture / "data"));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 30 * kBuffer})));
  EXPECT_TRUE(is_ok(out.drain()));
  std::vector<WriteCompletion> entries(100);
  ASSERT_EQ(must(out.poll_completions(entries)), 30U);
  std::set<std::uint64_t> seen;
  for (const WriteCompletion& entry : std::span(entries).first(30))
    seen.insert(entry.submission);
  EXPECT_EQ(seen.size(), 30U);
}

TEST_P(StreamTest, the_report_has_every_byte) {
  OutputStream out = fixture.make_stream({.tuning = {.request_bytes = 16_KiB}});
  const OutputFile file = must(out.create(fixture / "data"));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 10 * kBuffer})));
  EXPECT_TRUE(is_ok(out.drain()));
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

INSTANTIATE_TEST_SUITE_P(All, StreamTest, ::testing::ValuesIn(all_configs()), config_name);

}  // namespace
}  // namespace forebay::stream
