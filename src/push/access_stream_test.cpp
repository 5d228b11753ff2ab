// SPDX-License-Identifier: Apache-2.0
// When a stream pushes, how far ahead, and from which source.
#include "push/access_stream.hpp"

#include <array>

#include <gtest/gtest.h>

#include "push/testing.hpp"

namespace forebay::push {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t kLoadsMax = 48;

std::shared_ptr<const trace::Signature> signature_of_text(std::string_view text) {
  return std::make_shared<const trace::Signature>(trace::parse_signature(text).value());
}

/// A stream whose pushes are loaded at once, one load for each access.
class AccessStreamTest : public ::testing::Test {
 protected:
  /// One access; `interval` after the one before. Returns whether it was pushed before.
  bool read(const trace::Access& access, std::chrono::nanoseconds interval = microseconds(1)) {
    clock_.time += interval;
    const bool had_ahead = !stream.ahead().is_empty();
    const bool held = stream.observe(access, clock_, read::AccessOutcome::kHit);
    if (!held) stream.ahead().clear();
    push();
    return had_ahead && held;
  }
  void push() {
    for (const Prediction& next : stream.next_pushes(buffer_, kLoadsMax, latency))
      stream.ahead().push(next.offset, next.size, 1);
  }
  /// Of 200 reads 64 KiB apart, those that were not pushed.
  std::size_t misses_of_stride() {
    std::size_t misses = 0;
    for (std::uint64_t i = 0; i < 200; ++i)
      misses += read({i * 65536, 1024}) ? 0 : 1;
    return misses;
  }
  std::size_t ahead() const { return stream.ahead().accesses(); }

  AccessStream stream;
  std::chrono::nanoseconds latency{};

 private:
  std::array<Prediction, 1024> buffer_;
  struct TestClock final : Clock {
    TimePoint now() const noexcept override { return time; }
    TimePoint time{};
  };
  TestClock clock_;
};

TEST_F(AccessStreamTest, stride_is_pushed_after_two_accesses_and_farther_with_each_success) {
  EXPECT_FALSE(read({0, 1024}));
  EXPECT_FALSE(read({100'000, 1024}));
  EXPECT_EQ(ahead(), 1U);
  EXPECT_TRUE(read({200'000, 1024}));
  EXPECT_GE(ahead(), 3U);
  EXPECT_TRUE(read({300'000, 1024}));
  EXPECT_GE(ahead(), 12U);
  for (std::uint64_t i = 4; i < 100; ++i)
    EXPECT_TRUE(read({i * 100'000, 1024})) << i;
  EXPECT_GE(ahead(), kLoadsMax - kLoadsMax / 4);
  EXPECT_EQ(stream.dropped(), 0U);
}

TEST_F(AccessStreamTest, alternating_steps_are_pushed_after_three_accesses) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(read({i * 256'000, 1024}), i >= 2) << i;
    EXPECT_EQ(read({i * 256'000 + 64'000, 1024}), i >= 1) << i;
  }
}

TEST_F(AccessStreamTest, random_accesses_are_hardly_pushed) {
  const Stream accesses = scattered(2000, 1'000'000);
  for (const trace::Access& access : accesses)
    read(access);
  EXPECT_LE(stream.dropped(), 64U);
}

TEST_F(AccessStreamTest, end_of_a_run_drops_at_most_twice_its_length) {
  for (std::uint64_t run = 0; run < 50; ++run) {
    for (std::uint64_t i = 0; i < 8; ++i)
      read({run * run * 9'000'017 + i * 100'000, 1024});
  }
  EXPECT_LE(stream.dropped(), 3 * stream.used());
}

TEST_F(AccessStreamTest, hint_is_pushed_before_the_first_access) {
  stream.add_hint(HintOrigin::kProgram, signature_of_text("read {200 x (65536 i, 1024)}"));
  push();
  EXPECT_EQ(ahead(), 16U);
  for (std::uint64_t i = 0; i < 200; ++i)
    EXPECT_TRUE(read({i * 65536, 1024})) << i;
  EXPECT_EQ(stream.dropped(), 0U);
}

TEST_F(AccessStreamTest, wrong_hint_loses_to_online_prediction) {
  stream.add_hint(HintOrigin::kHintFile, signature_of_text("read {1000 x (4096 i + 7, 100)}"));
  push();
  EXPECT_LE(misses_of_stride(), 8U);
  EXPECT_LE(stream.dropped(), 32U);
}

TEST_F(AccessStreamTest, better_of_two_hints_is_used) {
  stream.add_hint(HintOrigin::kHintFile, signature_of_text("read {500 x (65536 i, 1024)}"));
  stream.add_hint(HintOrigin::kProgram, signature_of_text("read {500 x (8192 i, 1024)}"));
  push();
  EXPECT_LE(misses_of_stride(), 3U);
}

TEST_F(AccessStreamTest, online_prediction_continues_where_a_hint_ends) {
  stream.add_hint(HintOrigin::kProgram, signature_of_text("read {20 x (65536 i, 1024)}"));
  push();
  EXPECT_LE(misses_of_stride(), 2U);
}

TEST_F(AccessStreamTest, too_many_hints_replace_the_last_of_the_lowest_rank) {
  for (int i = 0; i < 20; ++i)
    stream.add_hint(HintOrigin::kHintFile, signature_of_text("read {9 x (65536 i, 1024)}"));
  stream.add_hint(HintOrigin::kProgram, signature_of_text("read {99 x (100 i, 10)}"));
  push();
  ASSERT_GT(ahead(), 1U);
  EXPECT_EQ(stream.ahead().at(0).offset, 0U);
}

TEST_F(AccessStreamTest, slow_reader_is_pushed_for_twice_the_latency) {
  latency = milliseconds(5);
  for (std::uint64_t i = 0; i < 100; ++i)
    read({i * 100'000, 1024}, milliseconds(2));
  EXPECT_GE(ahead(), 5U);
  EXPECT_LE(ahead(), 8U);
}

TEST_F(AccessStreamTest, quick_reader_that_becomes_slow_is_pushed_less_far_ahead) {
  latency = milliseconds(5);
  for (std::uint64_t i = 0; i < 200; ++i)
    read({i * 100'000, 1024});
  EXPECT_GE(ahead(), kLoadsMax / 2);
  for (std::uint64_t i = 200; i < 400; ++i)
    read({i * 100'000, 1024}, milliseconds(2));
  EXPECT_LE(ahead(), 8U);
}

TEST_F(AccessStreamTest, state_is_at_most_64_kib) { EXPECT_LE(stream.state_bytes(), 64U << 10U); }

}  // namespace
}  // namespace forebay::push
