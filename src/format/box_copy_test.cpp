// SPDX-License-Identifier: Apache-2.0
#include "format/box_copy.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::format {
namespace {

constexpr std::uint64_t kSeed = 17;

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
  BoxCopy(pair.block, pair.selection, element).for_each(raw, [&](const CopyRun& run) {
    EXPECT_GE(run.block_offset, reached);
    reached = run.block_offset + run.bytes;
    for (std::uint64_t i = 0; i < run.bytes; ++i)
      from.at(run.memory_offset + i) = static_cast<std::int64_t>(run.block_offset + i);
  });
  return from;
}

TEST(BoxCopy, matches_a_copy_element_by_element) {
  std::mt19937_64 random(kSeed);
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
  std::mt19937_64 random(kSeed + 1);
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

/// A layout with ghost layers, an order and gaps between elements, and the elements that its memory
/// has.
struct RandomMemory {
  MemoryLayout layout;
  std::uint64_t elements = 1;
};

RandomMemory random_memory(std::mt19937_64& random, const Coordinates& count) {
  RandomMemory memory;
  std::vector<std::size_t> slowest_first(count.size());
  std::iota(slowest_first.begin(), slowest_first.end(), 0U);
  std::ranges::shuffle(slowest_first, random);
  memory.layout.order = random() % 2 == 0 ? ArrayOrder::kC : ArrayOrder::kFortran;
  for (const std::uint64_t extent : count) {
    memory.layout.start.push_back(random() % 3);
    memory.layout.shape.push_back(memory.layout.start.back() + extent + random() % 3);
  }
  if (random() % 2 == 0) {
    memory.elements = element_count(memory.layout.shape);
    return memory;
  }
  memory.layout.strides.resize(count.size());
  for (std::size_t i = count.size(); i-- > 0;) {
    memory.elements += random() % 3;
    memory.layout.strides[slowest_first[i]] = memory.elements;
    memory.elements *= memory.layout.shape[slowest_first[i]];
  }
  return memory;
}

/// Offset in memory of each element of the box, from the members of the layout alone.
std::vector<std::uint64_t> offsets_in(const MemoryLayout& layout, const Coordinates& count) {
  std::vector<std::uint64_t> offsets;
  const Box box{Coordinates(count.size()), count};
  for (std::uint64_t i = 0; i < element_count(count); ++i) {
    const Coordinates in_box = coordinates_in(box, i);
    std::uint64_t offset = 0;
    for (std::size_t n = 0; n < count.size(); ++n) {
      const std::size_t d = layout.order == ArrayOrder::kC ? n : count.size() - 1 - n;
      const std::uint64_t at = in_box[d] + layout.start[d];
      offset =
          layout.strides.empty() ? offset * layout.shape[d] + at : offset + at * layout.strides[d];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

std::vector<std::byte> noise(std::mt19937_64& random, std::uint64_t bytes) {
  std::vector<std::byte> values(bytes);
  for (std::uint64_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(&values[at], &word, std::min(sizeof(word), bytes - at));
  }
  return values;
}

/// A whole box, memory for it, and a range of its bytes.
struct MemoryCase {
  Coordinates count;
  std::uint64_t element = 1;
  ByteRange raw;
  std::vector<std::byte> memory;
  std::vector<std::uint64_t> offsets;
  MemoryPlacement placement;
};

MemoryCase random_case(std::mt19937_64& random) {
  MemoryCase one;
  one.element = 1U << (random() % 5);
  const std::size_t dimensions = 1 + random() % 4;
  for (std::size_t d = 0; d < dimensions; ++d)
    one.count.push_back(1 + random() % (dimensions < 3 ? 80 : 9));
  const RandomMemory memory = random_memory(random, one.count);
  one.memory = noise(random, memory.elements * one.element);
  one.offsets = offsets_in(memory.layout, one.count);
  const auto placement = place_in_memory(
      memory.layout, {one.count, one.element, one.memory.size(), MemoryAccess::kWrite});
  EXPECT_TRUE(placement) << placement.error().message();
  one.placement = placement.value_or(MemoryPlacement{});
  const std::uint64_t first = random() % one.offsets.size();
  const std::uint64_t elements = random() % (one.offsets.size() - first + 1);
  one.raw = random() % 4 == 0 ? ByteRange{0, one.offsets.size() * one.element}
                              : ByteRange{first * one.element, elements * one.element};
  return one;
}

TEST(BoxCopy, copies_between_block_and_any_memory_match_a_copy_element_by_element) {
  std::mt19937_64 random(kSeed + 2);
  for (int round = 0; round < 4000; ++round) {
    const MemoryCase one = random_case(random);
    ASSERT_EQ(one.placement.strides.size(), one.count.size());
    const Box box{Coordinates(one.count.size()), one.count};
    const BoxCopy copy(box, box, one.placement, one.element);
    std::vector<std::byte> block(one.raw.size);
    copy.to_block(one.raw, block.data(), one.memory.data());
    auto into = noise(random, one.memory.size());
    auto expected_into = into;
    copy.to_memory(one.raw, block.data(), into.data());
    std::vector<std::byte> expected(one.raw.size);
    for (std::uint64_t at = 0; at < one.raw.size; at += one.element) {
      const std::uint64_t from = one.offsets[(one.raw.offset + at) / one.element] * one.element;
      std::memcpy(&expected[at], &one.memory[from], one.element);
      std::memcpy(&expected_into[from], &one.memory[from], one.element);
    }
    ASSERT_EQ(block, expected) << "round " << round;
    ASSERT_EQ(into, expected_into) << "round " << round;
  }
}

TEST(BoxCopy, selection_of_a_block_reaches_memory_with_ghosts) {
  std::mt19937_64 random(kSeed + 3);
  for (int round = 0; round < 2000; ++round) {
    const BoxPair pair = random_pair(random);
    const RandomMemory memory = random_memory(random, pair.selection.count);
    const auto offsets = offsets_in(memory.layout, pair.selection.count);
    const auto placement = place_in_memory(
        memory.layout, {pair.selection.count, 2, memory.elements * 2, MemoryAccess::kWrite});
    ASSERT_TRUE(placement) << placement.error().message();
    const auto block = noise(random, element_count(pair.block.count) * 2);
    const BoxCopy copy(pair.block, pair.selection, *placement, 2);
    std::vector<std::byte> into(memory.elements * 2);
    copy.to_memory({0, block.size()}, block.data(), into.data());
    std::vector<std::byte> expected(into.size());
    for (std::uint64_t i = 0; i < element_count(pair.block.count); ++i)
      if (const auto to = index_in(pair.selection, coordinates_in(pair.block, i)))
        std::memcpy(&expected[offsets[*to] * 2], &block[i * 2], 2);
    ASSERT_EQ(into, expected);
  }
}

TEST(BoxCopy, rows_between_ghosts_are_one_run_each) {
  const Box box{{0, 0, 0}, {2, 3, 8}};
  const auto placement = place_in_memory(with_ghosts(box.count, 1), {box.count, 8, 4 * 5 * 10 * 8});
  ASSERT_TRUE(placement) << placement.error().message();
  const BoxCopy copy(box, box, *placement, 8);
  EXPECT_EQ(copy.run_bytes(), 64);
  std::vector<CopyRun> runs;
  copy.for_each({0, 2 * 3 * 64}, [&](const CopyRun& run) { runs.push_back(run); });
  ASSERT_EQ(runs.size(), 6);
  EXPECT_EQ(runs[1], (CopyRun{64, (50 + 20 + 1) * 8, 64}));
}

TEST(BoxCopy, ghosts_of_the_slowest_dimension_alone_leave_one_run) {
  const Box box{{0, 0}, {4, 8}};
  const auto placement =
      place_in_memory({.shape = {8, 8}, .start = {2, 0}}, {box.count, 8, 8 * 8 * 8});
  ASSERT_TRUE(placement) << placement.error().message();
  const BoxCopy copy(box, box, *placement, 8);
  EXPECT_TRUE(copy.is_one_run());
  EXPECT_EQ(copy.memory_offset(), 2 * 8 * 8);
}

TEST(BoxCopy, whole_planes_are_one_run) {
  const BoxCopy copy({.start = {0, 0, 0}, .count = {4, 8, 8}},
                     {.start = {1, 0, 0}, .count = {2, 8, 8}}, 8);
  std::vector<CopyRun> runs;
  copy.for_each({0, 4 * 8 * 8 * 8}, [&](const CopyRun& run) { runs.push_back(run); });
  EXPECT_EQ(runs, (std::vector<CopyRun>{{512, 0, 1024}}));
}

}  // namespace
}  // namespace forebay::format
