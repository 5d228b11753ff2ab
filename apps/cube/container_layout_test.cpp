// SPDX-License-Identifier: Apache-2.0
#include "cube/container_layout.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "cube/container.hpp"
#include "cube/testing.hpp"

namespace forebay::cube {
namespace {

/// All ranges of a file that are written: the framing and the contents.
std::vector<ByteRange> written_ranges(const ContainerLayout& layout, const ContainerSpec& spec) {
  std::vector<ByteRange> ranges;
  for (const FileSegment& segment : layout.framing())
    ranges.push_back({segment.offset, segment.bytes.size()});
  if (layout.specification) ranges.push_back(layout.specification->bytes);
  for (std::size_t i = 0; i < spec.metrics.size(); ++i) {
    const RowsLayout& rows = layout.metrics[i];
    ranges.push_back({rows.data.bytes.offset, spec.metrics[i].header_bytes()});
    for (std::uint64_t row = 0; row < spec.metrics[i].row_count; ++row)
      ranges.push_back(rows.row(row));
    ranges.push_back(rows.index.bytes);
  }
  ranges.push_back(layout.anchor.bytes);
  std::erase_if(ranges, [](const ByteRange& range) { return range.empty(); });
  std::ranges::sort(ranges, {}, &ByteRange::offset);
  return ranges;
}

/// Expects that each byte of the file is written exactly once.
void expect_tiled(const ContainerSpec& spec) {
  const ContainerLayout layout = plan_container(spec);
  std::uint64_t end = 0;
  for (const ByteRange& range : written_ranges(layout, spec)) {
    ASSERT_EQ(range.offset, end);
    end = range.end();
  }
  EXPECT_EQ(end, layout.file_bytes);
}

RowsSpec compressed(RowsSpec spec, std::vector<std::uint64_t> sizes) {
  spec.row_count = sizes.size();
  spec.compressed_bytes = std::move(sizes);
  return spec;
}

TEST(ContainerLayout, each_byte_is_written_once) {
  expect_tiled({.metrics = {}, .anchor_bytes = 1});
  expect_tiled(
      {.specification_bytes = 1000,
       .metrics =
           {{.metric_id = 3, .row_bytes = 24, .row_count = 5},
            {.metric_id = 4, .row_bytes = 24, .row_count = 0},
            {.metric_id = 5, .row_bytes = 1, .row_count = 502, .format = IndexFormat::kDense},
            compressed({.metric_id = 6, .row_bytes = 24}, {10, 0, 400})},
       .anchor_bytes = 512});
}

RowsSpec random_rows(std::mt19937_64& random, std::uint32_t id) {
  RowsSpec rows{.metric_id = id, .row_bytes = 1 + random() % 600, .row_count = random() % 9};
  if (random() % 2 == 0) rows.format = IndexFormat::kDense;
  if (random() % 3 != 0) return rows;
  std::vector<std::uint64_t> sizes(rows.row_count);
  for (std::uint64_t& size : sizes)
    size = random() % 600;
  return compressed(rows, sizes);
}

TEST(ContainerLayout, each_byte_of_random_container_is_written_once) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round) {
    ContainerSpec spec{.metrics = {}, .anchor_bytes = 1 + random() % 2000};
    if (random() % 2 == 0) spec.specification_bytes = random() % 2000;
    const auto metric_count = static_cast<std::uint32_t>(random() % 6);
    for (std::uint32_t id = 0; id < metric_count; ++id)
      spec.metrics.push_back(random_rows(random, id));
    expect_tiled(spec);
  }
}

TEST(ContainerLayout, rows_match_documented_offsets) {
  const auto layout = plan_container(
      {.metrics = {{.metric_id = 0, .row_bytes = 4, .row_count = 2}}, .anchor_bytes = 10});
  const RowsLayout& rows = layout.metrics.front();
  EXPECT_EQ(rows.data.name, "0.data");
  EXPECT_EQ(rows.data.bytes, (ByteRange{512, 18}));
  EXPECT_EQ(rows.row(1), (ByteRange{512 + 10 + 4, 4}));
  EXPECT_EQ(rows.index.bytes, (ByteRange{1536, 30}));
  EXPECT_EQ(layout.anchor.bytes.offset, 2560U);
  EXPECT_EQ(layout.file_bytes, 2560U + 512 + 1024);
}

TEST(ContainerLayout, members_beyond_8_and_64_GiB_are_placed) {
  for (const std::uint64_t row_bytes : {1ULL << 33U, 1ULL << 36U, 1ULL << 45U}) {
    const ContainerSpec spec{.metrics = {{.metric_id = 0, .row_bytes = row_bytes, .row_count = 3},
                                         {.metric_id = 1, .row_bytes = 8, .row_count = 1}},
                             .anchor_bytes = 1};
    expect_tiled(spec);
    const ContainerLayout layout = plan_container(spec);
    EXPECT_EQ(layout.metrics[0].row(2).offset, 512 + 10 + 2 * row_bytes);
    const FileSegment segment = header_of(layout.metrics[0].data);
    TarBlock block{};
    std::ranges::copy(segment.bytes, block.begin());
    EXPECT_EQ(decode_tar_header(block)->size_bytes, 10 + 3 * row_bytes);
    EXPECT_EQ(layout.metrics[1].data.header_offset,
              512 + round_up_to_block(10 + 3 * row_bytes) + 1024);
  }
}

/// The archive of a layout whose contents are all 'x'.
std::vector<std::byte> archive_of(const ContainerLayout& layout) {
  std::vector<std::byte> bytes(layout.file_bytes, std::byte{'x'});
  for (const FileSegment& segment : layout.framing())
    std::ranges::copy(segment.bytes, bytes.begin() + static_cast<std::ptrdiff_t>(segment.offset));
  return bytes;
}

/// The members that CubeLib finds: it skips one more block after a member that fills its blocks.
std::vector<std::string> names_as_cubelib_reads(const std::vector<std::byte>& archive) {
  std::vector<std::string> names;
  std::uint64_t offset = 0;
  while (offset + kTarBlockBytes <= archive.size()) {
    const auto block = std::span(archive).subspan(offset).first<kTarBlockBytes>();
    offset += kTarBlockBytes;
    if (is_zero(block)) continue;
    const auto header = decode_tar_header(block);
    if (!header) return {"lost the next header"};
    names.push_back(header->name);
    if (header->size_bytes > 0)
      offset += (header->size_bytes / kTarBlockBytes + 1) * kTarBlockBytes;
  }
  return names;
}

TEST(ContainerLayout, cubelib_and_tar_readers_find_members_of_whole_blocks) {
  for (const std::uint64_t anchor_bytes : {511U, 512U, 513U, 1024U}) {
    const ContainerLayout layout =
        plan_container({.specification_bytes = 512,
                        .metrics = {{.metric_id = 0, .row_bytes = 1, .row_count = 502}},
                        .anchor_bytes = anchor_bytes});
    const auto archive = archive_of(layout);
    const std::vector<std::string> expected{"remapping.spec", "0.data", "0.index", "anchor.xml"};
    EXPECT_EQ(names_as_cubelib_reads(archive), expected);
    const auto container = read_container(testing::MemoryFile(archive));
    ASSERT_TRUE(container) << container.error().message();
    EXPECT_TRUE(container->remarks.empty());
    for (const std::string& name : expected)
      EXPECT_NE(container->find(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace forebay::cube
