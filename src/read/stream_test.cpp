// SPDX-License-Identifier: Apache-2.0
// Streams over sessions: the contract of std::istream for forebay::istream, and a thousand
// awaitable streams on one thread.
#include <forebay/istream.hpp>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"
#include "storage/faulty.hpp"

namespace forebay::read {
namespace {

std::vector<std::byte> to_bytes(const std::string& text) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

class StreamTest : public ::testing::Test {
 protected:
  /// Text whose lines are numbered, and a stream over it with this many bytes before and after.
  static std::string numbered_lines(int count) {
    std::ostringstream text;
    for (int i = 0; i < count; ++i)
      text << "line " << i << std::string(static_cast<std::size_t>(i % 90), '.') << '\n';
    return text.str();
  }
  Session open_text(const std::string& text, ByteRange extent) {
    return fixture.open(std::make_shared<storage::MemoryFile>("text", to_bytes(text)), extent,
                        SmallPlan{.readahead = 2});
  }
  /// Words with a byte that cannot be read.
  Session open_faulty(std::uint64_t size_bytes, std::uint64_t bad_offset) {
    return fixture.open(std::make_shared<storage::FaultyFile>(
                            word_file(size_bytes), storage::FileFaults{.bad_offset = bad_offset}),
                        {0, size_bytes}, SmallPlan{});
  }

  SessionFixture fixture;
};

TEST_F(StreamTest, lines_match_the_file) {
  const std::string text = numbered_lines(3000);
  istream in(open_text(text, {0, text.size()}));
  std::istringstream expected(text);
  std::string line;
  std::string expected_line;
  while (std::getline(expected, expected_line)) {
    ASSERT_TRUE(std::getline(in, line));
    ASSERT_EQ(line, expected_line);
  }
  EXPECT_FALSE(std::getline(in, line));
  EXPECT_TRUE(in.eof());
  EXPECT_FALSE(in.bad());
  EXPECT_FALSE(in.error());
}

TEST_F(StreamTest, numbers_can_be_extracted) {
  std::ostringstream text;
  for (int i = 0; i < 5000; ++i)
    text << i * 7 << ' ';
  istream in(open_text(text.str(), {0, text.str().size()}));
  int number = 0;
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(in >> number);
    ASSERT_EQ(number, i * 7);
  }
  EXPECT_FALSE(in >> number);
  EXPECT_TRUE(in.eof());
}

// Same results as a std::istringstream over the same bytes.
TEST_F(StreamTest, random_calls_match_a_string_stream) {
  Random random;
  const ByteRange extent{kUnit - 100, 7 * kUnit + 333};
  const std::vector<std::byte> bytes = word_bytes(extent);
  std::istringstream expected(
      std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  istream in(fixture.open(word_file(9 * kUnit), extent, SmallPlan{.readahead = 1}));
  std::string got(3 * kUnit, '\0');
  std::string wanted(3 * kUnit, '\0');
  bool is_count_set = true;  // read_exact() leaves the count unspecified
  for (int round = 0; round < 3000; ++round) {
    const auto size =
        static_cast<std::streamsize>(random.uniform(random.one_in(9) ? 3 * kUnit : 90));
    const auto target = static_cast<std::streamoff>(random.uniform(extent.size + 1));
    const std::uint64_t call = random.uniform(9);
    is_count_set |= call > 2;
    switch (call) {
      case 0:
        in.seekg(target);
        expected.seekg(target);
        break;
      case 1:
        in.seekg(-target, std::ios::end);
        expected.seekg(-target, std::ios::end);
        break;
      case 2:
        in.seekg(target / 8 - 200, std::ios::cur);
        expected.seekg(target / 8 - 200, std::ios::cur);
        break;
      case 3:
        ASSERT_EQ(in.peek(), expected.peek()) << "round " << round;
        break;
      case 4:
        ASSERT_EQ(in.get(), expected.get()) << "round " << round;
        break;
      case 5:
        in.ignore(size);
        expected.ignore(size);
        break;
      case 6:
        ASSERT_EQ(in.read_exact(std::span(got).first(static_cast<std::size_t>(size))),
                  static_cast<bool>(expected.read(wanted.data(), size)))
            << "round " << round;
        ASSERT_EQ(got, wanted) << "round " << round;
        is_count_set = !in.good();
        break;
      default:
        in.read(got.data(), size);
        expected.read(wanted.data(), size);
        ASSERT_EQ(got, wanted) << "round " << round;
    }
    if (is_count_set) {
      ASSERT_EQ(in.gcount(), expected.gcount()) << "round " << round;
    }
    ASSERT_EQ(in.rdstate(), expected.rdstate()) << "round " << round;
    ASSERT_EQ(in.tellg(), expected.tellg()) << "round " << round;
    if (in.good()) continue;
    in.clear();
    expected.clear();
  }
}

TEST_F(StreamTest, read_flushes_the_tied_stream) {
  struct CountingBuffer : std::stringbuf {
    int sync() override { return ++flushes, 0; }
    int flushes = 0;
  };
  istream in(fixture.open_words(kUnit, SmallPlan{}));
  CountingBuffer buffer;
  std::ostream prompt(&buffer);
  in.tie(&prompt);
  std::array<char, 8> into{};
  in.read(into.data(), into.size());
  in.read(into.data(), into.size());
  EXPECT_EQ(buffer.flushes, 2);
}

TEST_F(StreamTest, read_characters_can_be_put_back_to_the_start) {
  istream in(fixture.open_words(3 * kUnit, SmallPlan{}));
  in.seekg(kUnit);
  const int first = in.get();
  in.seekg(kUnit - 1);
  const int before = in.get();
  in.seekg(kUnit);
  in.unget();
  EXPECT_TRUE(in.good());
  EXPECT_EQ(in.get(), before);
  EXPECT_EQ(in.get(), first);
  in.seekg(kUnit);
  in.putback(static_cast<char>(before));
  EXPECT_TRUE(in.good());
  EXPECT_EQ(in.tellg(), std::istream::pos_type(kUnit - 1));
  in.seekg(kUnit);
  in.putback(static_cast<char>(before + 1));
  EXPECT_TRUE(in.bad());
  in.clear();
  EXPECT_EQ(in.get(), first);
  in.seekg(0);
  in.unget();
  EXPECT_TRUE(in.bad());
}

TEST_F(StreamTest, reading_zero_bytes_succeeds) {
  istream in(fixture.open_words(kUnit, SmallPlan{}));
  in.read(nullptr, 0);
  EXPECT_TRUE(in.good());
  EXPECT_EQ(in.gcount(), 0);
}

TEST_F(StreamTest, seek_back_from_the_end_succeeds) {
  istream in(fixture.open_words(kUnit, SmallPlan{}));
  std::array<char, 64> into{};
  in.seekg(-10, std::ios::end);
  in.read(into.data(), into.size());
  EXPECT_EQ(in.gcount(), 10);
  EXPECT_TRUE(in.eof());
  EXPECT_TRUE(in.fail());
  EXPECT_EQ(in.tellg(), std::istream::pos_type(-1));
  in.clear();
  EXPECT_EQ(in.tellg(), std::istream::pos_type(kUnit));
  in.seekg(8);
  in.read(into.data(), 8);
  EXPECT_EQ(in.gcount(), 8);
  EXPECT_TRUE(is_words(std::as_bytes(std::span(into)).first(8), 8));
}

TEST_F(StreamTest, seek_outside_the_range_fails_and_changes_nothing) {
  istream in(fixture.open_words(kUnit, SmallPlan{}));
  in.seekg(100);
  for (const std::streamoff target : {std::streamoff{kUnit + 1}, std::streamoff{-1}}) {
    in.seekg(target);
    EXPECT_TRUE(in.fail());
    in.clear();
    EXPECT_EQ(in.tellg(), std::istream::pos_type(100));
  }
}

TEST_F(StreamTest, positions_count_from_the_start_of_the_range) {
  const Session session = fixture.open(word_file(8 * kUnit), {100, 4 * kUnit}, SmallPlan{});
  istream in(session, {1000, 50});
  std::array<char, 64> into{};
  in.read(into.data(), into.size());
  EXPECT_EQ(in.gcount(), 50);
  EXPECT_TRUE(is_words(std::as_bytes(std::span(into)).first(50), 1000));
  istream outside(session, {0, 101});  // clipped to the session's extent
  outside.read(into.data(), into.size());
  EXPECT_EQ(outside.gcount(), 1);
}

TEST_F(StreamTest, empty_stream_is_at_its_end) {
  istream in(fixture.open(word_file(10), {10, 0}, SmallPlan{}));
  EXPECT_EQ(in.get(), std::istream::traits_type::eof());
  EXPECT_TRUE(in.eof());
  EXPECT_FALSE(in.bad());
}

TEST_F(StreamTest, storage_failure_sets_badbit_and_error) {
  istream in(open_faulty(8 * kUnit, 5 * kUnit + 10));
  std::vector<char> into(5 * kUnit);
  in.read(into.data(), 5 * kUnit);
  ASSERT_TRUE(in.good());
  EXPECT_TRUE(is_words(std::as_bytes(std::span(into)), 0));
  EXPECT_FALSE(in.error());
  in.read(into.data(), 100);
  EXPECT_TRUE(in.bad());
  EXPECT_FALSE(in.eof());
  ASSERT_TRUE(in.error());
  EXPECT_EQ(in.error()->kind(), ErrorClass::kIo);
  EXPECT_EQ(in.error()->error_number(), EIO);
  EXPECT_EQ(in.error()->path(), "words");
}

TEST_F(StreamTest, stream_reads_elsewhere_after_a_failure) {
  istream in(open_faulty(8 * kUnit, 5 * kUnit + 10));
  in.seekg(5 * kUnit);
  EXPECT_EQ(in.get(), std::istream::traits_type::eof());
  EXPECT_TRUE(in.bad());
  EXPECT_TRUE(in.error());
  in.clear();
  in.seekg(6 * kUnit);
  std::vector<char> into(2 * kUnit);
  in.read(into.data(), 2 * kUnit);
  EXPECT_TRUE(in.good());
  EXPECT_TRUE(is_words(std::as_bytes(std::span(into)), 6 * kUnit));
  EXPECT_FALSE(in.error());
}

TEST_F(StreamTest, closing_the_session_fails_the_stream) {
  const Session session = fixture.open_words(8 * kUnit, SmallPlan{});
  istream in(session);
  EXPECT_EQ(in.get(), 0);
  session.close();
  std::vector<char> into(8 * kUnit);
  in.read(into.data(), 8 * kUnit);
  EXPECT_TRUE(in.bad());
  ASSERT_TRUE(in.error());
  EXPECT_EQ(in.error()->kind(), ErrorClass::kClosed);
}

TEST_F(StreamTest, many_streams_share_a_window_of_a_few_slots) {
  const Session session = fixture.open_words(32 * kUnit, SmallPlan{});
  std::vector<std::unique_ptr<istream>> streams;
  for (std::uint64_t i = 0; i < 12; ++i) {  // each holds a View between two reads
    streams.push_back(std::make_unique<istream>(session, ByteRange{i * 2 * kUnit, 8 * kUnit}));
  }
  std::array<char, 100> into{};
  for (std::uint64_t at = 0; at + 100 <= 8 * kUnit; at += 100) {
    for (std::uint64_t i = 0; i < streams.size(); ++i) {
      ASSERT_TRUE(streams[i]->read(into.data(), 100));
      ASSERT_TRUE(is_words(std::as_bytes(std::span(into)), i * 2 * kUnit + at));
    }
  }
}

// AsyncInputStream.

TEST_F(StreamTest, awaitable_reads_advance_and_end_with_the_range) {
  const Session session = fixture.open(word_file(8 * kUnit), {100, 4 * kUnit}, SmallPlan{});
  AsyncInputStream in(session, {200, 150});
  std::vector<std::byte> into(100);
  EXPECT_EQ(*result_of(in.read(into)), 100U);
  EXPECT_TRUE(is_words(into, 200));
  EXPECT_EQ(in.tellg(), 100U);
  EXPECT_FALSE(in.eof());
  EXPECT_EQ(*result_of(in.read(into)), 50U);
  EXPECT_TRUE(is_words(std::span(into).first(50), 300));
  EXPECT_EQ(in.gcount(), 50U);
  EXPECT_TRUE(in.eof());
  EXPECT_EQ(*result_of(in.read(into)), 0U);
  EXPECT_EQ(in.gcount(), 0U);

  ASSERT_TRUE(in.seekg(-20, std::ios_base::end));
  EXPECT_FALSE(in.eof());
  ASSERT_TRUE(in.seekg(-10, std::ios_base::cur));
  EXPECT_EQ(in.tellg(), 120U);
  EXPECT_EQ(*result_of(in.read(std::span(into).first(30))), 30U);
  EXPECT_TRUE(is_words(std::span(into).first(30), 320));
  EXPECT_FALSE(in.eof());
  EXPECT_EQ(error_class(in.seekg(151)), ErrorClass::kOutOfRange);
  EXPECT_EQ(error_class(in.seekg(-151, std::ios_base::end)), ErrorClass::kOutOfRange);
  EXPECT_EQ(in.tellg(), 150U);
}

TEST_F(StreamTest, failed_awaitable_read_returns_an_error_and_advances) {
  AsyncInputStream in(open_faulty(8 * kUnit, 5 * kUnit + 10));
  std::vector<std::byte> into(kUnit);
  ASSERT_TRUE(in.seekg(5 * kUnit));
  EXPECT_EQ(error_class(result_of(in.read(into))), ErrorClass::kIo);
  EXPECT_EQ(in.tellg(), 6 * kUnit);
  ASSERT_TRUE(result_of(in.read(into)));
  EXPECT_TRUE(is_words(into, 6 * kUnit));
}

struct StreamTotals {
  int running = 0;
  int wrong = 0;
  std::uint64_t bytes = 0;
};

Detached stream_words(Session session, ByteRange range, StreamTotals& totals) {
  AsyncInputStream in(std::move(session), range);
  std::vector<std::byte> into(700);
  while (!in.eof()) {
    const std::uint64_t at = range.offset + in.tellg();
    const Result<ByteCount> got = co_await in.read(into);
    if (!got || !is_words(std::span(into).first(*got), at)) ++totals.wrong;
    if (!got) break;
    totals.bytes += *got;
  }
  --totals.running;
}

/// A window, and the bytes that each stream reads.
struct StreamScenario {
  SmallPlan plan;
  std::uint64_t each_bytes = 0;
};

class ManyStreams : public ::testing::TestWithParam<StreamScenario> {
 protected:
  SessionFixture fixture;
};

TEST_P(ManyStreams, thousand_streams_on_one_thread) {
  constexpr int kStreams = 1000;
  const std::uint64_t each = GetParam().each_bytes;
  // Once with tasks that can read on their own threads, once with the agent alone.
  for (const bool gated : {false, true}) {
    std::shared_ptr<storage::File> file = word_file(kStreams * each);
    if (gated) file = std::make_shared<GatedFile>(kStreams * each);
    const Session session = fixture.open(file, {0, kStreams * each}, GetParam().plan);
    StreamTotals totals{.running = kStreams};
    for (std::uint64_t i = 0; i < kStreams; ++i)
      stream_words(session, {i * each, each}, totals);
    ASSERT_TRUE(run_until(fixture.loop(), [&] { return totals.running == 0; })) << totals.running;
    EXPECT_EQ(totals.wrong, 0);
    EXPECT_EQ(totals.bytes, kStreams * each);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Windows,
    ManyStreams,
    ::testing::Values(
        StreamScenario{{.slots = 1, .slots_max = 1}, kUnit / 8 + 10},
        StreamScenario{{.slots = 8, .slots_max = 16, .readahead = 2}, 2 * kUnit + 100},
        StreamScenario{
            {.slots = 16, .slots_max = 16, .readahead = 8, .eviction = EvictionPolicy::kLru},
            2 * kUnit + 100}));

}  // namespace
}  // namespace forebay::read
