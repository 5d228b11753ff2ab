// SPDX-License-Identifier: Apache-2.0
// Many short streams at once, which write to separate files and to a common one, on two devices.
// They are canceled, fail and end in any order. Bytes drained without an error are correct.
#include <forebay/output_stream.hpp>

#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "stream/testing.hpp"

namespace forebay::stream {
namespace {

class Stress : public StreamTest {};

/// One stream of a few files, which may be canceled in the middle.
class ShortStream {
 public:
  ShortStream(StreamFixture& fixture, const std::string& directory, std::uint64_t seed)
      : site_(fixture),
        directory_(directory),
        random_(seed),
        name_("stream" + std::to_string(seed)) {}

  void run() {
    OutputStream out = site_.make_stream(
        {.buffer_bytes = 4096 + below(60'000),
         .buffers = 1 + narrow(below(4)),
         .tuning = {.request_bytes = 4096 * (1 + below(5)), .queue_depth = 1 + narrow(below(5))}});
    std::vector<OutputFile> files;
    std::vector<std::uint64_t> sizes(1 + below(3), 0);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      files.push_back(must(out.create(directory_ + "/" + name_ + "-" + std::to_string(i))));
    const bool is_cancelled = below(5) == 0;
    const std::uint64_t pieces = below(40);
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      const std::size_t which = below(files.size());
      const std::uint64_t size = below(out.plan().buffer_bytes + 1);
      EXPECT_TRUE(is_ok(submit_pattern(out, files[which], {sizes[which], size})));
      sizes[which] += size;
      EXPECT_TRUE(below(20) != 0 || is_ok(files[which].drain()));
    }
    if (is_cancelled) return out.cancel();
    EXPECT_TRUE(is_ok(below(2) == 0 ? out.drain() : out.sync()));
    for (std::size_t i = 0; i < files.size(); ++i)
      EXPECT_TRUE(is_pattern(files[i].path(), sizes[i]));
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  static std::uint32_t narrow(std::uint64_t number) { return static_cast<std::uint32_t>(number); }

  StreamFixture& site_;
  const std::string directory_;
  std::mt19937_64 random_;
  const std::string name_;
};

TEST_P(Stress, streams_are_created_and_destroyed) {
  constexpr std::uint64_t kThreads = 3;
  constexpr std::uint64_t kStreamsPerThread = 15;
  const storage::TemporaryDirectory memory("/dev/shm");
  const bool has_two = GetParam().access == Access::kBuffered && !memory.path().empty();
  std::vector<std::jthread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t round = 0; round < kStreamsPerThread; ++round) {
        const bool here = has_two && round % 2 == 0;
        ShortStream(fixture, here ? memory.path() : fixture / ".", thread * 1000 + round).run();
      }
    });
  }
}

TEST_P(Stress, several_streams_write_one_file_in_small_odd_pieces) {
  constexpr std::uint64_t kStreams = 3;
  constexpr std::uint64_t kPieces = 300;
  constexpr std::uint64_t kPiece = 1237;
  OutputStream first = fixture.make_stream();
  const OutputFile file = must(first.create(fixture / "data"));
  std::vector<std::jthread> threads;
  for (std::uint64_t stream = 0; stream < kStreams; ++stream) {
    threads.emplace_back([&, stream] {
      OutputStream out = fixture.make_stream({.buffers = 3});
      const OutputFile own =
          must(out.create(fixture / "data", {.existing_content = ExistingContent::kKeep}));
      for (std::uint64_t i = stream; i < kPieces; i += kStreams) {
        EXPECT_TRUE(is_ok(submit_pattern(out, own, {i * kPiece, kPiece})));
        EXPECT_TRUE(i % 50 != 0 || is_ok(out.drain()));
      }
      EXPECT_TRUE(is_ok(out.drain()));
    });
  }
  threads.clear();
  EXPECT_TRUE(is_ok(first.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", kPieces * kPiece));
}

TEST_P(Stress, cancel_at_any_moment_ends_all_waits) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 30; ++round) {
    OutputStream out = fixture.make_stream({.buffers = 3, .tuning = {.request_bytes = 4_KiB}});
    const OutputFile file = must(out.create(fixture / ("data" + std::to_string(round))));
    std::jthread producer([&] {
      for (std::uint64_t at = 0; submit_pattern(out, file, {at, 50'001}); at += 50'001) {
      }
    });
    std::jthread drainer([&] {
      while (out.drain()) {
      }
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    out.cancel();
    producer.join();
    drainer.join();
    EXPECT_EQ(error_class(out.drain()), ErrorClass::kCancelled);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Stress, ::testing::ValuesIn(all_configs()), config_name);

}  // namespace
}  // namespace forebay::stream
