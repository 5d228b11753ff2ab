// SPDX-License-Identifier: Apache-2.0
// Sessions on real files, with each access and backend of a Runtime: buffered, and direct with
// io_uring, threads or POSIX AIO. All must read the same bytes.
#include <forebay/istream.hpp>
#include <forebay/runtime.hpp>

#include <atomic>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sanitizer.hpp"
#include "read/testing.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

using read::is_words;
using read::Random;
using read::reads_words;
using read::result_of;

struct AccessCase {
  std::string name;
  std::optional<Access> access;
  BackendChoice backend = BackendChoice::kAuto;
};

class RealFile : public ::testing::TestWithParam<AccessCase> {
 protected:
  void SetUp() override {
    write_words("probe", 5000);
    const auto session = open("probe").read_session({0, kAll}, plan({}));
    if (!session) GTEST_SKIP() << session.error().message();
  }

  void write_words(const std::string& name, std::uint64_t size_bytes) const {
    read::write_words(directory / name, size_bytes);
  }
  File open(const std::string& name) {
    auto file = runtime.open_file(directory / name);
    EXPECT_TRUE(file) << file.error().message();
    return *file;
  }
  static ReadPlan plan(ReadPlan requested) {
    requested.access = GetParam().access;
    return requested;
  }

  storage::TemporaryDirectory directory;
  Runtime runtime{{.budget_bytes = 8_MiB, .tuning = {.backend = GetParam().backend}}};
};

TEST_P(RealFile, odd_sizes_at_odd_offsets_are_read) {
  for (const std::uint64_t size : {1, 63, 511, 4095, 4096, 4097, 65535, 65536, 65537, 200'001}) {
    const std::string name = std::to_string(size);
    write_words(name, size);
    const File file = open(name);
    for (const std::uint64_t first : {std::uint64_t{0}, size / 3, size - 1}) {
      for (const std::uint64_t last : {size, size - size / 5}) {
        const ByteRange extent{std::min(first, last), last - std::min(first, last)};
        const auto session = file.read_session(extent, plan({.tuning = {.splinter_bytes = 4_KiB}}));
        ASSERT_TRUE(session) << session.error().message();
        ASSERT_TRUE(reads_words(*session, extent)) << extent.offset << " + " << extent.size;
        ASSERT_TRUE(session->views(extent).for_each(
            [](const View& view) { EXPECT_TRUE(is_words(view.bytes(), view.range().offset)); }));
      }
    }
  }
}

TEST_P(RealFile, random_requests_through_windows_of_all_sizes) {
  constexpr std::uint64_t kSize = 3'000'017;
  write_words("words", kSize);
  Random random;
  for (const std::uint64_t window : {4_KiB, 12_KiB, 64_KiB, 1_MiB}) {
    const ByteRange extent{random.uniform(10'000), kSize - 20'000};
    const auto session = open("words").read_session(
        extent, plan({.budget_bytes = 4 * window,
                      .tuning = {.splinter_bytes = 4_KiB, .window_bytes = window}}));
    ASSERT_TRUE(session) << session.error().message();
    for (int round = 0; round < 100; ++round)
      ASSERT_TRUE(reads_words(*session, random.range(extent, random.one_in(20) ? kSize : 30'000)));
    const int views = window > 100_KiB ? 10 : 50;
    for (int round = 0; round < views; ++round) {
      const ByteRange range = random.range(extent, 4 * window);
      const auto view = result_of(session->view(range));
      ASSERT_TRUE(view && is_words(view->bytes(), range.offset));
    }
  }
}

TEST_P(RealFile, default_plans_read_right_bytes) {
  for (const std::uint64_t size : {std::uint64_t{100'000}, 5_MiB + 77, 40_MiB + 1}) {
    write_words("words", size);
    const auto session = open("words").read_session({0, size}, plan({}));
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_FALSE(session->plan().reason.empty());
    EXPECT_LE(session->plan().budget_bytes, 8_MiB);
    std::uint64_t at = 0;
    ASSERT_TRUE(session->views({0, size}).for_each([&](const View& view) {
      EXPECT_EQ(view.range().offset, at);
      EXPECT_TRUE(is_words(view.bytes(), at));
      at = view.range().end();
    }));
    EXPECT_EQ(at, size);
    EXPECT_LE(session->report().window_bytes, 8_MiB);
  }
}

TEST_P(RealFile, threads_share_a_session_and_a_tiny_window) {
  constexpr std::uint64_t kSize = 600'007;
  write_words("words", kSize);
  const auto session = open("words").read_session(
      {0, kSize},
      plan({.budget_bytes = 24_KiB, .tuning = {.splinter_bytes = 4_KiB, .window_bytes = 8_KiB}}));
  ASSERT_TRUE(session) << session.error().message();
  const Random seeds;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      Random random(seeds.seed() + i);
      for (int round = 0; round < 100; ++round) {
        const ByteRange range = random.range({0, kSize}, 20'000);
        if (random.one_in(2)) {
          ASSERT_TRUE(reads_words(*session, range));
          continue;
        }
        const auto view = result_of(session->view(range));
        ASSERT_TRUE(view && is_words(view->bytes(), range.offset));
      }
    });
  }
}

Detached sum_words(Session session, ByteRange range, std::uint64_t& sum, int& left) {
  AsyncInputStream in(session, range);
  std::vector<std::uint64_t> words(100);
  while (!in.eof()) {
    const auto got = co_await in.read(std::as_writable_bytes(std::span(words)));
    EXPECT_TRUE(got);
    if (!got) break;
    for (std::size_t i = 0; i < *got / 8; ++i)
      sum += words[i];
  }
  --left;
}

TEST_P(RealFile, coroutines_run_while_the_loop_waits) {
  constexpr std::uint64_t kWords = 200'000;
  write_words("words", kWords * 8);
  const auto session =
      open("words").read_session({0, kAll}, plan({.tuning = {.splinter_bytes = 16_KiB}}));
  ASSERT_TRUE(session) << session.error().message();
  std::uint64_t sum = 0;
  int left = 100;
  for (std::uint64_t i = 0; i < 100; ++i)
    sum_words(*session, {i * kWords / 100 * 8, kWords / 100 * 8}, sum, left);
  while (left > 0)
    runtime.event_loop().wait();
  EXPECT_EQ(sum, 8 * (kWords * (kWords - 1) / 2));
}

TEST_P(RealFile, istream_reads_what_ifstream_reads) {
  write_words("words", 777'777);
  const auto session =
      open("words").read_session({0, kAll}, plan({.tuning = {.splinter_bytes = 16_KiB}}));
  ASSERT_TRUE(session) << session.error().message();
  forebay::istream in(*session);
  std::ifstream expected(directory / "words", std::ios::binary);
  std::vector<char> got(5000);
  std::vector<char> requested(5000);
  Random random;
  while (expected) {
    const auto size = static_cast<std::streamsize>(random.uniform_between(1, 5000));
    in.read(got.data(), size);
    expected.read(requested.data(), size);
    ASSERT_EQ(in.gcount(), expected.gcount());
    ASSERT_EQ(got, requested);
    ASSERT_EQ(in.rdstate(), expected.rdstate());
  }
}

TEST_P(RealFile, truncated_open_file_is_an_error_and_no_signal) {
  constexpr std::uint64_t kSize = 1'000'000;
  write_words("words", kSize);
  const auto session = open("words").read_session(
      {0, kAll},
      plan({.budget_bytes = 64_KiB, .readahead_bytes = 0, .tuning = {.splinter_bytes = 4_KiB}}));
  ASSERT_TRUE(session) << session.error().message();
  const View held = *result_of(session->view({900'000, 100}));
  constexpr std::uint64_t kLeft = 500'123;
  ASSERT_EQ(::truncate((directory / "words").c_str(), kLeft), 0);
  EXPECT_TRUE(reads_words(*session, {0, kLeft}));
  std::vector<std::byte> into(1000);
  const auto across = result_of(session->read(kLeft - 100, std::span(into)));
  ASSERT_EQ(error_class(across), ErrorClass::kShortFile);
  EXPECT_EQ(across.error().offset_bytes(), kLeft);
  EXPECT_EQ(error_class(result_of(session->view({800'000, 10}))), ErrorClass::kShortFile);
  EXPECT_TRUE(is_words(held.bytes(), 900'000));
  EXPECT_TRUE(reads_words(*session, {0, kLeft}));
}

TEST_P(RealFile, file_that_grows_or_is_unlinked_is_read_as_opened) {
  constexpr std::uint64_t kSize = 300'001;
  write_words("words", kSize);
  const File file = open("words");
  const auto session = file.read_session(
      {0, kAll},
      plan({.budget_bytes = 64_KiB, .readahead_bytes = 0, .tuning = {.splinter_bytes = 4_KiB}}));
  ASSERT_TRUE(session) << session.error().message();
  ASSERT_EQ(::truncate((directory / "words").c_str(), kSize * 2), 0);
  EXPECT_EQ(file.size(), kSize);
  ASSERT_EQ(::unlink((directory / "words").c_str()), 0);
  EXPECT_TRUE(reads_words(*session, {0, kSize}));
  EXPECT_EQ(error_class(result_of(session->view({kSize, 1}))), ErrorClass::kOutOfRange);
}

INSTANTIATE_TEST_SUITE_P(
    Ways,
    RealFile,
    ::testing::Values(AccessCase{"chosen", std::nullopt},
                      AccessCase{"buffered", Access::kBuffered},
                      AccessCase{"direct", Access::kDirect},
                      AccessCase{"direct_threads", Access::kDirect, BackendChoice::kThreads},
                      AccessCase{"direct_aio", Access::kDirect, BackendChoice::kAio}),
    [](const ::testing::TestParamInfo<AccessCase>& tested) { return tested.param.name; });

// Beyond 2 and 4 GiB, the limits of 32-bit numbers.

/// Writes words at `offset` of a sparse file.
void write_marker(const storage::TemporaryDirectory& directory, std::uint64_t offset) {
  auto file = storage::must_open(directory / "holes", {.intent = storage::Intent::kWrite});
  ASSERT_TRUE(file->write_at(read::word_bytes({offset, 100}), offset));
}

class LargeFile : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSlice = 3_GiB;
  static constexpr ByteRange kExtent{1_GiB + 1001, 5_GiB};
  static constexpr std::uint64_t kFirst = kExtent.offset + 12'345;
  /// In the slice: its ends, and both sides of 2^31 and 2^32 from the start of the file and of the
  /// slice.
  static constexpr std::uint64_t kMarkers[] = {kFirst,           2_GiB - 50, kFirst + 2_GiB - 50,
                                               kFirst + 500_MiB, 4_GiB - 50, kFirst + kSlice - 100};

  void SetUp() override {
    auto file = storage::must_open(directory / "holes", {.intent = storage::Intent::kCreate});
    ASSERT_TRUE(file->truncate(kExtent.end() + 999));
    for (const std::uint64_t offset : kMarkers)
      write_marker(directory, offset);
    session.emplace(*runtime.open_file(directory / "holes")->read_session(kExtent));
  }

  storage::TemporaryDirectory directory;
  Runtime runtime;
  std::optional<Session> session;
};

std::uint64_t available_memory_bytes() {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("MemAvailable:")) return std::stoull(line.substr(13)) * 1024;
  }
  return 0;
}

/// Memory that is allocated on first access.
class LazyMemory {
 public:
  explicit LazyMemory(std::size_t size_bytes)
      : bytes_(static_cast<std::byte*>(::mmap(nullptr,
                                              size_bytes,
                                              PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                                              -1,
                                              0)),
               size_bytes) {}
  ~LazyMemory() { ::munmap(bytes_.data(), bytes_.size()); }
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

TEST_F(LargeFile, slice_of_3_gib_is_one_request) {
  if (kThreadSanitizer)
    GTEST_SKIP() << "the thread sanitizer takes half a minute for this many bytes";
  constexpr std::uint64_t kNeeded = kAddressSanitizer ? 4 * kSlice : kSlice + 1_GiB;
  if (available_memory_bytes() < kNeeded) GTEST_SKIP() << "needs " << kNeeded << " bytes";
  const LazyMemory into(kSlice);
  Future<ByteCount> future = session->read(kFirst, into.bytes());
  const auto got = future.wait();
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, kSlice);
  std::uint64_t marked = 0;
  for (const std::uint64_t offset : kMarkers) {
    ASSERT_TRUE(is_words(into.bytes().subspan(offset - kFirst, 100), offset)) << offset;
    marked += 100;
  }
  std::uint64_t not_zero = 0;
  for (std::uint64_t at = 0; at < kSlice; at += 4099) {
    if (into.bytes()[at] != std::byte{0}) ++not_zero;
  }
  EXPECT_LE(not_zero, marked / 4099 + std::size(kMarkers));
  EXPECT_LE(session->report().window_bytes, 64_MiB);
}

TEST_F(LargeFile, pieces_far_apart_are_one_request) {
  std::vector<ByteRange> ranges;
  for (const std::uint64_t offset : kMarkers)
    ranges.push_back({offset, 100});
  std::vector<std::byte> into(100 * ranges.size());
  ASSERT_TRUE(result_of(session->read(ranges, std::span(into))));
  for (std::size_t i = 0; i < ranges.size(); ++i)
    EXPECT_TRUE(is_words(std::span(into).subspan(i * 100, 100), ranges[i].offset));
}

TEST_F(LargeFile, block_extends_across_4_gib) {
  // Columns of bytes: 100 of each row of 2^30, three rows.
  const Subarray block{
      .shape = {4, 1_GiB}, .start = {0, 500_MiB}, .count = {3, 100}, .array_offset = kFirst};
  std::vector<std::byte> into(300);
  ASSERT_TRUE(result_of(session->read(block, std::span(into))));
  EXPECT_TRUE(is_words(std::span(into).first(100), kFirst + 500_MiB));
  EXPECT_EQ(std::vector<std::byte>(into.begin() + 100, into.end()), std::vector<std::byte>(200));
}

}  // namespace
}  // namespace forebay
