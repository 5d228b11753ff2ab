// SPDX-License-Identifier: Apache-2.0
#include "restore/box_copy.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"

namespace forebay::restore {
namespace {

using format::Box;
using format::Coordinates;

std::uint64_t element_count(const Coordinates& count) {
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : count)
    elements *= extent;
  return elements;
}

/// Coordinates in the array of the element with this number in the box.
Coordinates coordinates_in(const Box& box, std::uint64_t number) {
  Coordinates location(box.count.size());
  for (std::size_t d = location.size(); d-- > 0;) {
    location[d] = box.start[d] + number % box.count[d];
    number /= box.count[d];
  }
  return location;
}

/// The number of an element in the box; no value if it is outside.
std::optional<std::uint64_t> index_in(const Box& box, const Coordinates& location) {
  std::uint64_t number = 0;
  for (std::size_t d = 0; d < location.size(); ++d) {
    if (location[d] < box.start[d] || location[d] >= box.start[d] + box.count[d])
      return std::nullopt;
    number = number * box.count[d] + location[d] - box.start[d];
  }
  return number;
}

Box random_box(std::mt19937_64& random, std::size_t dimensions) {
  Box box;
  for (std::size_t d = 0; d < dimensions; ++d) {
    box.start.push_back(random() % 4);
    box.count.push_back(1 + random() % 5);
  }
  return box;
}

/// A box and a selection that overlap.
struct BoxPair {
  Box block;
  Box selection;
};

BoxPair random_pair(std::mt19937_64& random) {
  const std::size_t dimensions = 1 + random() % 4;
  while (true) {
    BoxPair pair{random_box(random, dimensions), random_box(random, dimensions)};
    for (std::uint64_t i = 0; i < element_count(pair.block.count); ++i)
      if (index_in(pair.selection, coordinates_in(pair.block, i))) return pair;
  }
}

/// For each byte of the selection, the byte of the block that is copied to it, if that is in `raw`.
std::vector<std::int64_t> copy_by_element(const BoxPair& pair,
                                          std::uint64_t element,
                                          ByteRange raw) {
  std::vector<std::int64_t> from(element_count(pair.selection.count) * element, -1);
  for (std::uint64_t i = 0; i < element_count(pair.block.count); ++i) {
    const auto to = index_in(pair.selection, coordinates_in(pair.block, i));
    for (std::uint64_t b = 0; to && b < element; ++b) {
      const std::uint64_t byte = i * element + b;
      if (raw.contains({byte, 1})) from[*to * element + b] = static_cast<std::int64_t>(byte);
    }
  }
  return from;
}

std::vector<std::int64_t> copy_by_runs(const BoxPair& pair, std::uint64_t element, ByteRange raw) {
  std::vector<std::int64_t> from(element_count(pair.selection.count) * element, -1);
  std::uint64_t reached = 0;
  BoxCopy(pair.block, pair.selection, element).for_each(raw, [&](const restore::CopyRun& run) {
    EXPECT_GE(run.block_offset, reached);
    reached = run.block_offset + run.bytes;
    for (std::uint64_t i = 0; i < run.bytes; ++i)
      from.at(run.memory_offset + i) = static_cast<std::int64_t>(run.block_offset + i);
  });
  return from;
}

TEST(BoxCopy, matches_a_copy_element_by_element) {
  std::mt19937_64 random(read::Random().seed());
  for (int round = 0; round < 2000; ++round) {
    const BoxPair pair = random_pair(random);
    const std::uint64_t element = 1U << (random() % 4);
    const std::uint64_t bytes = element_count(pair.block.count) * element;
    const std::uint64_t from = random() % bytes;
    const ByteRange raw{from, random() % (bytes - from + 1)};
    ASSERT_EQ(copy_by_runs(pair, element, raw), copy_by_element(pair, element, raw));
    ASSERT_EQ(copy_by_runs(pair, element, {0, bytes}), copy_by_element(pair, element, {0, bytes}));
  }
}

TEST(BoxCopy, hulls_begin_and_end_with_requested_bytes) {
  std::mt19937_64 random(read::Random().seed());
  for (int round = 0; round < 2000; ++round) {
    const BoxPair pair = random_pair(random);
    const BoxCopy copy(pair.block, pair.selection, 2);
    const std::uint64_t bytes = element_count(pair.block.count) * 2;
    const std::uint64_t from = random() % bytes;
    const ByteRange raw{from, random() % (bytes - from + 1)};
    std::vector<std::int64_t> wanted = copy_by_element(pair, 2, raw);
    std::erase(wanted, -1);
    std::ranges::sort(wanted);
    ByteRange expected;
    if (!wanted.empty()) {
      const auto first = static_cast<std::uint64_t>(wanted.front());
      expected = {first, static_cast<std::uint64_t>(wanted.back()) + 1 - first};
    }
    ASSERT_EQ(copy.hull_in(raw), expected);
    ASSERT_EQ(copy.hull(), copy.hull_in({0, bytes}));
    ASSERT_EQ(copy.bytes(), std::ranges::count_if(copy_by_element(pair, 2, {0, bytes}),
                                                  [](std::int64_t byte) { return byte >= 0; }));
  }
}

TEST(BoxCopy, whole_planes_are_one_run) {
  const BoxCopy copy({.start = {0, 0, 0}, .count = {4, 8, 8}},
                     {.start = {1, 0, 0}, .count = {2, 8, 8}}, 8);
  std::vector<restore::CopyRun> runs;
  copy.for_each({0, 4 * 8 * 8 * 8}, [&](const restore::CopyRun& run) { runs.push_back(run); });
  EXPECT_EQ(runs, (std::vector<restore::CopyRun>{{512, 0, 1024}}));
}

}  // namespace
}  // namespace forebay::restore
