// SPDX-License-Identifier: Apache-2.0
// Many streams at once that live shortly, write to files of their own and to one of all, on two
// devices, are cancelled, fail and end in any order. What was drained without an error is right.
#include <forebay/output_stream.hpp>

#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "stream/testing.hpp"

namespace forebay::stream {
namespace {

class Stress : public StreamTest {};

/// One stream of a few files, which may be given up in the middle.
class ShortLife {
 public:
  ShortLife(Site& site, const std::string& folder, std::uint64_t seed)
      : site_(site), folder_(folder), random_(seed), name_("stream" + std::to_string(seed)) {}

  void live() {
    OutputStream out = site_.make_stream({.buffer_bytes = 4096 + below(60'000),
                                          .buffers = 1 + narrow(below(4)),
                                          .request_bytes = 4096 * (1 + below(5)),
                                          .queue_depth = 1 + narrow(below(5))});
    std::vector<OutputFile> files;
    std::vector<std::uint64_t> sizes(1 + below(3), 0);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      files.push_back(must(out.create(folder_ + "/" + name_ + "-" + std::to_string(i))));
    const bool is_cancelled = below(5) == 0;
    const std::uint64_t pieces = below(40);
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      const std::size_t which = below(files.size());
      const std::uint64_t size = below(out.plan().buffer_bytes + 1);
      EXPECT_TRUE(works(submit_pattern(out, files[which], {sizes[which], size})));
      sizes[which] += size;
      EXPECT_TRUE(below(20) != 0 || works(files[which].drain()));
    }
    if (is_cancelled) return out.cancel();
    EXPECT_TRUE(works(below(2) == 0 ? out.drain() : out.sync()));
    for (std::size_t i = 0; i < files.size(); ++i)
      EXPECT_TRUE(is_pattern(files[i].path(), sizes[i]));
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  static std::uint32_t narrow(std::uint64_t number) { return static_cast<std::uint32_t>(number); }

  Site& site_;
  const std::string folder_;
  std::mt19937_64 random_;
  const std::string name_;
};

TEST_P(Stress, streams_come_and_go) {
  constexpr std::uint64_t kThreads = 3;
  constexpr std::uint64_t kLives = 15;
  const storage::TemporaryFolder memory("/dev/shm");
  const bool has_two = GetParam().access == Access::kBuffered && !memory.path().empty();
  std::vector<std::jthread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t life = 0; life < kLives; ++life) {
        const bool here = has_two && life % 2 == 0;
        ShortLife(site, here ? memory.path() : site / ".", thread * 1000 + life).live();
      }
    });
  }
}

TEST_P(Stress, several_streams_write_one_file_in_small_odd_pieces) {
  constexpr std::uint64_t kStreams = 3;
  constexpr std::uint64_t kPieces = 300;
  constexpr std::uint64_t kPiece = 1237;
  OutputStream first = site.make_stream();
  const OutputFile file = must(first.create(site / "data"));
  std::vector<std::jthread> threads;
  for (std::uint64_t stream = 0; stream < kStreams; ++stream) {
    threads.emplace_back([&, stream] {
      OutputStream out = site.make_stream({.buffers = 3});
      const OutputFile own = must(out.create(site / "data", {.existing = Existing::kKeep}));
      for (std::uint64_t i = stream; i < kPieces; i += kStreams) {
        EXPECT_TRUE(works(submit_pattern(out, own, {i * kPiece, kPiece})));
        EXPECT_TRUE(i % 50 != 0 || works(out.drain()));
      }
      EXPECT_TRUE(works(out.drain()));
    });
  }
  threads.clear();
  EXPECT_TRUE(works(first.drain()));
  EXPECT_TRUE(is_pattern(site / "data", kPieces * kPiece));
}

TEST_P(Stress, cancelling_at_any_moment_ends_everything) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 30; ++round) {
    OutputStream out = site.make_stream({.buffers = 3, .request_bytes = 4_KiB});
    const OutputFile file = must(out.create(site / ("data" + std::to_string(round))));
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

INSTANTIATE_TEST_SUITE_P(All, Stress, ::testing::ValuesIn(all_ways()), way_name);

}  // namespace
}  // namespace forebay::stream
