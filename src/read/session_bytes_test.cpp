// SPDX-License-Identifier: Apache-2.0
// Bytes that a session returns: ranges, lists, blocks, and sequences of views, through windows that
// are much smaller than the requests.
#include <forebay/session.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"

namespace forebay::read {
namespace {

/// A setup of a session: the bytes must not depend on it.
struct Variant {
  const char* name;
  SmallPlan plan;
  PageCacheState page_cache = PageCacheState::kCold;
  bool is_device = false;  ///< tasks never read on their own threads
};

class SessionBytes : public ::testing::TestWithParam<Variant> {
 protected:
  static constexpr std::uint64_t kFileBytes = 50 * kUnit + 4321;
  /// Neither end is aligned to a splinter or a word.
  static constexpr ByteRange kExtent{kUnit + 777, 47 * kUnit + 1234};

  static std::shared_ptr<storage::File> make_file() {
    if (GetParam().is_device) return std::make_shared<GatedFile>(kFileBytes);
    return word_file(kFileBytes);
  }
  Session open() { return fixture.open(make_file(), kExtent, GetParam().plan); }

  SessionFixture fixture{GetParam().page_cache};
  Random random;
  Session session = open();
};

TEST_P(SessionBytes, ranges) {
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t size_max = random.one_in(4) ? kExtent.size : 3 * kUnit;
    const ByteRange range = random.range(kExtent, size_max);
    ASSERT_TRUE(reads_words(session, range)) << range.offset << " + " << range.size;
  }
}

TEST_P(SessionBytes, the_whole_extent_as_one_request) {
  EXPECT_TRUE(reads_words(session, kExtent));
  EXPECT_TRUE(reads_words(session, kExtent));
}

TEST_P(SessionBytes, lists_in_any_order_with_overlaps_and_empty_ranges) {
  for (int round = 0; round < 100; ++round) {
    std::vector<ByteRange> ranges(random.uniform(20));
    std::vector<std::byte> expected;
    for (ByteRange& range : ranges) {
      range = random.one_in(5) ? ByteRange{random.uniform(UINT64_MAX), 0}
                               : random.range(kExtent, random.one_in(3) ? 5 * kUnit : 100);
      const std::vector<std::byte> bytes = word_bytes(range);
      expected.insert(expected.end(), bytes.begin(), bytes.end());
    }
    std::vector<std::byte> into(expected.size());
    const auto got = result_of(session.read(ranges, into));
    ASSERT_TRUE(got) << got.error().message();
    ASSERT_EQ(*got, expected.size());
    ASSERT_TRUE(into == expected) << "round " << round;
  }
}

/// The definition of a block: one element after the other, in file order.
std::vector<std::byte> block_bytes(const Subarray& block, std::uint64_t array_offset) {
  std::vector<std::byte> bytes;
  const std::uint64_t elements = std::accumulate(block.count.begin(), block.count.end(),
                                                 std::uint64_t{1}, std::multiplies<>());
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::uint64_t rest = i;
    std::uint64_t place = 0;
    std::uint64_t stride = 1;
    for (std::size_t step = 0; step < block.shape.size(); ++step) {
      const std::size_t d = block.order == ArrayOrder::kC ? block.shape.size() - 1 - step : step;
      place += (block.start[d] + rest % block.count[d]) * stride;
      rest /= block.count[d];
      stride *= block.shape[d];
    }
    for (std::size_t byte = 0; byte < block.element_bytes; ++byte)
      bytes.push_back(word_byte(array_offset + place * block.element_bytes + byte));
  }
  return bytes;
}

Subarray random_block(Random& random, std::uint64_t array_bytes_max) {
  Subarray block;
  block.order = random.one_in(2) ? ArrayOrder::kC : ArrayOrder::kFortran;
  block.element_bytes = random.uniform_between(1, 9);
  std::uint64_t room = array_bytes_max / block.element_bytes;
  for (std::size_t d = random.uniform_between(1, 4); d > 0; --d) {
    const std::uint64_t shape = random.uniform_between(1, std::min<std::uint64_t>(room, 60));
    room /= shape;
    const std::uint64_t start = random.uniform(shape + 1);
    block.shape.push_back(shape);
    block.start.push_back(start);
    block.count.push_back(random.uniform_between(0, shape - start));
  }
  return block;
}

TEST_P(SessionBytes, blocks_of_arrays_in_both_orders) {
  for (int round = 0; round < 200; ++round) {
    Subarray block = random_block(random, kExtent.size);
    std::uint64_t array_offset = kExtent.offset;
    if (random.one_in(2)) {
      std::uint64_t bytes = block.element_bytes;
      for (const std::uint64_t shape : block.shape)
        bytes *= shape;
      array_offset += random.uniform(kExtent.size - bytes + 1);
      block.array_offset = array_offset;
    }
    const std::vector<std::byte> expected = block_bytes(block, array_offset);
    std::vector<std::byte> into(expected.size());
    const auto got = result_of(session.read(block, into));
    ASSERT_TRUE(got) << got.error().message();
    ASSERT_EQ(*got, expected.size());
    ASSERT_TRUE(into == expected) << "round " << round;
  }
}

TEST_P(SessionBytes, views) {
  const std::uint64_t budget = session.plan().budget_bytes;
  for (int round = 0; round < 300; ++round) {
    const ByteRange range = random.range(kExtent, random.one_in(3) ? budget : kUnit);
    const auto view = result_of(session.view(range));
    ASSERT_TRUE(view) << view.error().message();
    ASSERT_EQ(view->bytes().size(), range.size);
    ASSERT_TRUE(range.empty() || view->range() == range);
    ASSERT_TRUE(is_words(view->bytes(), range.offset));
  }
}

TEST_P(SessionBytes, views_of_one_range) {
  for (int round = 0; round < 10; ++round) {
    const ByteRange range = round == 0 ? kExtent : random.range(kExtent, kExtent.size);
    ViewSequence views = session.views(range);
    std::uint64_t at = range.offset;
    while (!views.is_done()) {
      EXPECT_EQ(views.remaining(), (ByteRange{at, range.end() - at}));
      const auto view = result_of(views.next());
      ASSERT_TRUE(view) << view.error().message();
      ASSERT_LE(view->bytes().size(), kUnit);
      ASSERT_EQ(view->range().offset, at);
      ASSERT_TRUE(is_words(view->bytes(), at));
      at = view->range().end();
    }
    EXPECT_EQ(at, range.end());
  }
}

TEST_P(SessionBytes, for_each_view) {
  std::vector<std::byte> all_bytes;
  const Status done = session.views(kExtent).for_each([&](const View& view) {
    all_bytes.insert(all_bytes.end(), view.bytes().begin(), view.bytes().end());
  });
  ASSERT_TRUE(done) << done.error().message();
  ASSERT_EQ(all_bytes.size(), kExtent.size);
  EXPECT_TRUE(is_words(all_bytes, kExtent.offset));
}

TEST_P(SessionBytes, many_requests_in_flight) {
  struct Request {
    ByteRange range;
    std::vector<std::byte> into;
    Future<ByteCount> future = ByteCount{0};
  };
  std::vector<Request> requests(200);
  for (Request& request : requests) {
    request.range = random.range(kExtent, 2 * kUnit);
    request.into.resize(request.range.size);
    request.future = session.read(request.range.offset, std::span(request.into));
  }
  while (!requests.empty()) {  // in random order
    std::swap(requests[random.uniform(requests.size())], requests.back());
    Request& request = requests.back();
    const auto got = result_of(request.future);
    ASSERT_TRUE(got) << got.error().message();
    ASSERT_TRUE(is_words(request.into, request.range.offset));
    requests.pop_back();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans,
    SessionBytes,
    ::testing::Values(Variant{"one_slot", {.slots = 1, .slots_max = 1}},
                      Variant{"one_slot_ahead", {.slots = 1, .slots_max = 1, .readahead = 1}},
                      Variant{"three_slots_ahead", {.slots = 3, .slots_max = 3, .readahead = 2}},
                      Variant{"window_that_grows", {.slots = 2, .slots_max = 16, .readahead = 1}},
                      Variant{"cache",
                              {.slots = 5, .slots_max = 5, .eviction = EvictionPolicy::kLru}},
                      Variant{"all_in_the_window", {.slots = 64, .slots_max = 64, .readahead = 64}},
                      Variant{.name = "cached_three_slots",
                              .plan = {.slots = 3, .slots_max = 3, .readahead = 2},
                              .page_cache = PageCacheState::kWarm},
                      Variant{.name = "device_one_slot",
                              .plan = {.slots = 1, .slots_max = 1, .readahead = 1},
                              .is_device = true},
                      Variant{.name = "device_that_grows",
                              .plan = {.slots = 2, .slots_max = 16, .readahead = 4},
                              .is_device = true}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace forebay::read
