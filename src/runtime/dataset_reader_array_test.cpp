// SPDX-License-Identifier: Apache-2.0
// Global arrays, written in some blocks and read in other selections.
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "format/verify.hpp"
#include "runtime/dataset_reader_testing.hpp"

namespace forebay {
namespace {

using format::Coordinates;
using Edges = std::vector<std::uint64_t>;

std::uint64_t linear_index(const Shape& shape, const Coordinates& place) {
  std::uint64_t number = 0;
  for (std::size_t d = 0; d < shape.size(); ++d)
    number = number * shape[d] + place[d];
  return number;
}

/// The values of the elements of a box: their linear indexes.
std::vector<double> numbers_in(const Shape& shape,
                               const Coordinates& start,
                               const Coordinates& count) {
  std::vector<double> numbers(element_count(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Coordinates place(shape.size());
    std::size_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0;) {
      place[d] = start[d] + rest % count[d];
      rest /= count[d];
    }
    numbers[i] = static_cast<double>(linear_index(shape, place));
  }
  return numbers;
}

/// 0 ... extent, cut at random.
Edges random_edges(std::mt19937_64& random, std::uint64_t extent) {
  std::set<std::uint64_t> edges = {0, extent};
  for (std::uint64_t cuts = random() % 4; cuts > 0; --cuts)
    edges.insert(random() % extent);
  return {edges.begin(), edges.end()};
}

/// An array "u" in which each element is its linear index, cut into boxes along random planes.
format::TestStep random_array(std::mt19937_64& random, const Shape& shape, std::uint32_t files) {
  format::TestStep step{.step = 1, .files = files};
  std::vector<Edges> edges;
  std::uint64_t boxes = 1;
  for (const std::uint64_t extent : shape) {
    edges.push_back(random_edges(random, extent));
    boxes *= edges.back().size() - 1;
  }
  for (std::uint64_t box = 0; box < boxes; ++box) {
    format::TestBlock block{.field = {.name = "u",
                                      .type = ElementType::kFloat64,
                                      .kind = format::FieldKind::kGlobal,
                                      .dimensions = static_cast<std::uint32_t>(shape.size()),
                                      .shape = shape},
                            .file = static_cast<std::uint32_t>(random() % files)};
    std::uint64_t rest = box;
    for (const Edges& cut : edges) {
      const std::uint64_t i = rest % (cut.size() - 1);
      rest /= cut.size() - 1;
      block.start.push_back(cut[i]);
      block.shape.push_back(cut[i + 1] - cut[i]);
    }
    block.raw = to_bytes(numbers_in(shape, block.start, block.shape));
    step.blocks.push_back(std::move(block));
  }
  return step;
}

Subarray random_selection(std::mt19937_64& random, const Shape& shape) {
  Subarray selection;
  for (const std::uint64_t extent : shape) {
    selection.start.push_back(random() % extent);
    selection.count.push_back(1 + random() % (extent - selection.start.back()));
  }
  return selection;
}

struct DamagedBlock {
  std::string name;
  std::string file;
  format::Box box;
};

/// Expects an Error if the selection has elements of the damaged block, and right values otherwise.
void expect_damage_in(const DamagedBlock& block,
                      const StepReader& step,
                      const Subarray& selection) {
  std::vector<double> values(element_count(selection.count), -1.0);
  const auto got = step.read("u", selection, std::span(values)).wait();
  if (!format::has_overlap(block.box, {selection.start, selection.count})) {
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(values, numbers_in(step.find("u")->shape, selection.start, selection.count));
    return;
  }
  ASSERT_EQ(error_class(got), ErrorClass::kDamage) << block.name;
  EXPECT_EQ(got.error().path(), block.file);
  EXPECT_TRUE(message_contains(got.error(), block.name)) << got.error().message();
}

class ArrayReaderTest : public testing::Test {
 protected:
  StepReader write_and_open(const format::TestStep& step, const DatasetReadOptions& options = {}) {
    std::filesystem::remove_all(path_);
    format::TestWriter(path_, format::test_dataset_id()).write(step);
    return open_newest_step(runtime_, path_, options);
  }
  void expect_only_finding(const std::string& file, std::uint64_t key) const {
    const auto report = format::verify(path_);
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_EQ(report->findings.size(), 1U);
    EXPECT_EQ(report->findings[0].error.path(), file);
    EXPECT_EQ(report->findings[0].field, "u");
    EXPECT_EQ(report->findings[0].key, key);
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "run.fb";
  Runtime runtime_{test_options()};
};

TEST_F(ArrayReaderTest, any_selection_is_read_from_any_blocks) {
  std::mt19937_64 random(read::Random().seed());
  const std::vector<Shape> shapes = {{400'000}, {701, 503}, {70, 81, 65}, {9, 11, 13, 15}};
  for (int round = 0; round < 12; ++round) {
    const Shape& shape = shapes.at(static_cast<std::size_t>(round) % shapes.size());
    format::TestStep written = random_array(random, shape, 1 + round % 3);
    if (round % 3 == 1) written.codec = format::Codec::kZstd;
    const StepReader step = write_and_open(
        written, {.verification = round % 5 == 0 ? Verification::kOff : Verification::kOn});
    for (int i = 0; i < 8; ++i) {
      const Subarray selection = random_selection(random, shape);
      std::vector<double> values(element_count(selection.count), -1.0);
      const auto got = step.read("u", selection, std::span(values)).wait();
      ASSERT_TRUE(got) << got.error().message();
      ASSERT_EQ(values, numbers_in(shape, selection.start, selection.count));
    }
  }
}

TEST_F(ArrayReaderTest, shape_is_reported_and_other_shapes_are_rejected) {
  std::mt19937_64 random(1);
  const StepReader step = write_and_open(random_array(random, {6, 7}, 1));
  const FieldInfo* const field = step.find("u");
  ASSERT_NE(field, nullptr);
  EXPECT_EQ(field->kind, FieldKind::kGlobal);
  EXPECT_EQ(field->shape, (Shape{6, 7}));
  std::vector<double> four(4);
  const auto read = [&](const Subarray& selection) {
    return error_class(step.read("u", selection, std::span(four)).wait());
  };
  EXPECT_EQ(read({.start = {5, 0}, .count = {2, 2}}), ErrorClass::kOutOfRange);
  EXPECT_EQ(read({.start = {0}, .count = {4}}), ErrorClass::kInvalidArgument);
  EXPECT_EQ(read({.start = {0, 0}, .count = {2, 3}}), ErrorClass::kInvalidArgument);
  EXPECT_EQ(read({.start = {0, 0}, .count = {2, 2}, .order = ArrayOrder::kFortran}),
            ErrorClass::kInvalidArgument);
  EXPECT_EQ(read({.shape = {7, 6}, .start = {0, 0}, .count = {2, 2}}),
            ErrorClass::kInvalidArgument);
  EXPECT_EQ(read({.shape = {6, 7}, .start = {0, 0}, .count = {2, 2}}), std::nullopt);
  EXPECT_EQ(read({.start = {0, UINT64_MAX}, .count = {2, 2}}), ErrorClass::kOutOfRange);
  EXPECT_EQ(error_class(step.parts("u")), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(step.read("u", Part{0}, std::span(four)).wait()),
            ErrorClass::kInvalidArgument);
  EXPECT_EQ(step.read("u", {.start = {1, 1}, .count = {0, 3}}, std::span<double>()).wait(),
            ByteCount{0});
}

TEST_F(ArrayReaderTest, overlapping_blocks_are_damage_even_in_incomplete_selections) {
  format::TestStep step{.step = 1, .files = 2};
  for (const std::uint64_t start : {0U, 1U}) {
    format::TestBlock block{.field = {.name = "u",
                                      .type = ElementType::kFloat64,
                                      .kind = format::FieldKind::kGlobal,
                                      .dimensions = 1,
                                      .shape = {10}},
                            .start = {start},
                            .shape = {6 - start},
                            .file = static_cast<std::uint32_t>(start)};
    block.raw.resize((6 - start) * sizeof(double));
    step.blocks.push_back(std::move(block));
  }
  std::vector<double> values(10);
  const StepReader read = write_and_open(step);
  const auto check = [&](const Subarray& selection, std::optional<double> fill) {
    const auto into = std::span(values).first(selection.count.front());
    const auto got = fill ? read.read("u", selection, into, *fill).wait()
                          : read.read("u", selection, into).wait();
    ASSERT_EQ(error_class(got), ErrorClass::kDamage);
    EXPECT_TRUE(message_contains(got.error(), "overlap")) << got.error().message();
  };
  for (const std::optional<double> fill : {std::optional<double>(), std::optional(0.5)}) {
    check({.start = {0}, .count = {10}}, fill);  // 11 elements are stored, and some are missing
    check({.start = {5}, .count = {5}}, fill);
  }
  // Elements of one block alone can be read.
  EXPECT_TRUE(read.read("u", {.start = {0}, .count = {1}}, std::span(values).first(1)).wait());
  const auto report = format::verify(path_);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->findings.size(), 1U);
}

/// The blocks of the array have one piece each: a flipped bit damages its whole block.
TEST_F(ArrayReaderTest, flipped_bit_fails_only_the_selections_of_its_block) {
  std::mt19937_64 random(read::Random().seed());
  const Shape shape{41, 23, 11};
  for (int round = 0; round < 20; ++round) {
    format::TestStep written = random_array(random, shape, 1 + round % 3);
    if (round % 4 == 1) written.codec = format::Codec::kZstd;
    std::ignore = write_and_open(written);
    const auto catalog = format::Catalog::open(path_).value()->step(1).value();
    const std::vector<format::BlockLocation> locations = catalog->blocks("u");
    const format::BlockLocation place = locations.at(random() % locations.size());
    const format::Block block = catalog->block(place);
    const DamagedBlock damaged{.name = catalog->describe(place),
                               .file = catalog->files()[place.file].path,
                               .box = catalog->index(place).box(place.field, place.number)};
    flip_bit(damaged.file, block.offset + random() % block.stored_bytes);
    expect_only_finding(damaged.file, block.key);
    const StepReader step = open_newest_step(runtime_, path_);
    expect_damage_in(damaged, step, {.start = damaged.box.start, .count = damaged.box.count});
    for (int i = 0; i < 12; ++i)
      expect_damage_in(damaged, step, random_selection(random, shape));
  }
}

TEST_F(ArrayReaderTest, missing_elements_are_an_error_or_the_fill) {
  std::mt19937_64 random(1);
  format::TestStep written = random_array(random, {4, 4}, 1);
  format::TestBlock block = written.blocks.front();
  block.start = {1, 1};
  block.shape = {2, 2};
  block.raw = to_bytes(numbers_in({4, 4}, block.start, block.shape));
  written.blocks = {block};
  const StepReader step = write_and_open(written);
  const Subarray selection{.start = {0, 1}, .count = {2, 2}};
  std::vector<double> values(4, -1.0);
  EXPECT_EQ(error_class(step.read("u", selection, std::span(values)).wait()),
            ErrorClass::kNotFound);
  ASSERT_TRUE(step.read("u", selection, std::span(values), 0.5).wait());
  EXPECT_EQ(values, (std::vector{0.5, 0.5, 5.0, 6.0}));
}

}  // namespace
}  // namespace forebay
