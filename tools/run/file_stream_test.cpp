// SPDX-License-Identifier: Apache-2.0
// When reads of a program are read ahead, and what the counts state.
#include "tools/run/file_stream.hpp"

#include <chrono>
#include <fstream>
#include <thread>
#include <tuple>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "storage/testing.hpp"

namespace forebay::run {
namespace {

constexpr std::uint64_t kLoads = 64;
constexpr std::uint32_t kSlowNs = 5'000'000;
constexpr std::uint32_t kFastNs = 2'000;

push::FileHint hint_of(const char* signature) {
  return {.signature =
              std::make_shared<const trace::Signature>(trace::parse_signature(signature).value())};
}

class FileStreamTest : public ::testing::Test {
 protected:
  FileStreamTest() {
    std::ofstream(path_) << "x";
    std::filesystem::resize_file(path_, 64ULL << 20U);
  }
  trace::TraceRecord record(std::uint64_t offset, std::uint32_t duration_ns) {
    now_ns_ += duration_ns;
    return {.offset = offset, .size = 1024, .begin_ns = now_ns_, .duration_ns = duration_ns};
  }

  const storage::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "file";
  PageWarmer warmer_;
  FileStream stream_{std::make_shared<LazyFile>(path_, FileIds()), 1};
  std::uint64_t now_ns_ = 1'000'000'000;
};

TEST_F(FileStreamTest, slow_strided_reads_are_read_ahead) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    const bool is_pushed = stream_.counts().ahead_bytes > 0;
    stream_.observe(record(i * 65'536, is_pushed ? kFastNs : kSlowNs), warmer_, kLoads);
  }
  const StreamCounts& counts = stream_.counts();
  EXPECT_EQ(counts.reads, 50U);
  EXPECT_GE(counts.hits, 40U);
  EXPECT_LE(counts.misses, 4U);
  EXPECT_GE(counts.ahead_bytes, 40U * 4096);
}

TEST_F(FileStreamTest, requests_longer_than_a_read_are_cut) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    trace::TraceRecord request = record(i * 65'536, kSlowNs);
    if (i >= 2) request.size = 1ULL << 42U;
    stream_.observe(request, warmer_, kLoads);
  }
  EXPECT_GT(stream_.counts().ahead_bytes, 0U);
  EXPECT_LE(stream_.counts().ahead_bytes, 10ULL << 31U);
}

TEST_F(FileStreamTest, fast_reads_are_left_to_the_kernel) {
  for (std::uint64_t i = 0; i < 200; ++i)
    stream_.observe(record(i * 65'536, kFastNs), warmer_, kLoads);
  EXPECT_EQ(stream_.counts().ahead_bytes, 0U);
}

TEST_F(FileStreamTest, few_slow_reads_among_fast_ones_are_left_to_the_kernel) {
  for (std::uint64_t i = 0; i < 200; ++i)
    stream_.observe(record(i * 65'536, i % 32 == 31 ? kSlowNs : kFastNs), warmer_, kLoads);
  EXPECT_EQ(stream_.counts().ahead_bytes, 0U);
}

TEST_F(FileStreamTest, hint_is_followed_before_the_first_read) {
  stream_.add_hint(push::HintOrigin::kProfile, hint_of("read {100 x (262144 i, 1024)}"));
  stream_.begin(warmer_, kLoads);
  EXPECT_GE(stream_.counts().ahead_bytes, 16U * 4096);
  for (std::uint64_t i = 0; i < 100; ++i)
    stream_.observe(record(i * 262'144, kFastNs), warmer_, kLoads);
  EXPECT_EQ(stream_.counts().misses, 0U);
}

TEST_F(FileStreamTest, cached_ranges_end_reading_ahead_only_until_a_read_waits) {
  const auto file = std::make_shared<LazyFile>(path_, FileIds());
  const Descriptor opened(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<char> bytes(1U << 20U);
  ASSERT_EQ(::pread(opened.get(), bytes.data(), bytes.size(), 0), 1L << 20);
  FileStream stream(file, 2);
  for (std::uint64_t i = 0; i < 8; ++i)
    stream.observe(record(i * 65'536, kSlowNs), warmer_, kLoads);
  for (int i = 0; i < 64; ++i)  // never before Linux 6.5
    static_cast<void>(file->is_cached(*file->open(), 0, 4096));
  const std::uint64_t before = stream.counts().ahead_bytes;
  for (std::uint64_t i = 100; i < 108; ++i)
    stream.observe(record(i * 65'536, kSlowNs), warmer_, kLoads);
  EXPECT_GT(stream.counts().ahead_bytes, before);
}

TEST_F(FileStreamTest, large_reads_are_read_ahead_up_to_a_limit) {
  stream_.add_hint(push::HintOrigin::kProfile, hint_of("read {9 x (1073741824 i, 1073741824)}"));
  stream_.begin(warmer_, 1);
  EXPECT_EQ(stream_.counts().ahead_bytes, FileStream::kWholeBytesMax);
}

TEST_F(FileStreamTest, reads_that_were_cached_before_save_no_time) {
  constexpr std::chrono::milliseconds kLatency{5};
  constexpr std::uint64_t kReads = 16;
  for (const std::uint64_t waits : {0U, 10U, 1000U}) {
    const auto file = std::make_shared<LazyFile>(path_, FileIds());
    FileStream stream(file, 2);
    stream.add_hint(push::HintOrigin::kProfile, hint_of("read {100 x (4096 i, 4096)}"));
    {
      PageWarmer warmer;
      stream.begin(warmer, kLoads);
      for (std::uint64_t i = 0; i < kReads; ++i)
        stream.observe({.offset = i * 4096, .size = 4096, .begin_ns = i, .duration_ns = kFastNs},
                       warmer, kLoads);
    }
    // On a busy machine, loads of cached pages may have looked like those from storage.
    std::ignore = file->take_loaded();
    file->add_loaded({waits, waits * 4096});
    const auto saved = static_cast<double>(std::min(waits, kReads));
    EXPECT_NEAR(stream.end(kLatency), saved * 0.005, 1e-6);
  }
}

TEST_F(FileStreamTest, predictions_begin_with_the_first_read_that_waits) {
  for (std::uint64_t i = 0; i < 50; ++i)
    stream_.observe(record(i * 65'536, i < 10 ? kFastNs : kSlowNs), warmer_, kLoads);
  EXPECT_GE(stream_.counts().late, 30U);
  EXPECT_EQ(stream_.reads().size(), 50U);
}

TEST_F(FileStreamTest, random_reads_are_not_read_ahead) {
  std::uint64_t at = 1;
  for (int i = 0; i < 200; ++i) {
    at = at * 6364136223846793005U + 1442695040888963407U;
    stream_.observe(record(at % 16'000 * 4096, kSlowNs), warmer_, kLoads);
  }
  EXPECT_LE(stream_.counts().ahead_bytes, 50U * 4096);
}

}  // namespace
}  // namespace forebay::run
