// SPDX-License-Identifier: Apache-2.0
// Blocks and parts put from and read into memory with ghost layers, strides and Fortran order.
#include <algorithm>
#include <complex>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

/// Values of elements that do not belong to the box.
constexpr double kGhost = -7;

double value_at(const Shape& place) {
  double value = 0;
  for (const std::uint64_t index : place)
    value = value * 1000 + static_cast<double>(index);
  return value;
}

/// A box of a global array in memory. Each element is its place in the array.
struct PlacedBox {
  Subarray box;
  MemoryLayout layout;
  std::vector<double> memory;
};

Shape place_of(const Subarray& box, std::uint64_t number) {
  Shape place(box.count.size());
  for (std::size_t d = place.size(); d-- > 0; number /= box.count[d])
    place[d] = box.start[d] + number % box.count[d];
  return place;
}

std::uint64_t offset_of(const PlacedBox& placed, const Shape& place) {
  std::uint64_t offset = 0;
  for (std::size_t n = 0; n < place.size(); ++n) {
    const bool is_c = placed.layout.order == ArrayOrder::kC;
    const std::size_t d = is_c ? n : place.size() - 1 - n;
    const std::uint64_t at = place[d] - placed.box.start[d] + placed.layout.start[d];
    offset = placed.layout.strides.empty() ? offset * placed.layout.shape[d] + at
                                           : offset + at * placed.layout.strides[d];
  }
  return offset;
}

PlacedBox filled(Subarray box, MemoryLayout layout, std::uint64_t elements) {
  PlacedBox placed{std::move(box), std::move(layout), std::vector<double>(elements, kGhost)};
  for (std::uint64_t i = 0; i < element_count(placed.box.count); ++i) {
    const Shape place = place_of(placed.box, i);
    placed.memory[offset_of(placed, place)] = value_at(place);
  }
  return placed;
}

PlacedBox with_ghosts_around(const Subarray& box, ArrayOrder order) {
  const MemoryLayout layout = with_ghosts(box.count, 2, order);
  return filled(box, layout, element_count(layout.shape));
}

/// Each third number of a C array, as one component of interleaved vectors.
PlacedBox interleaved(const Subarray& box) {
  MemoryLayout layout{.start = {0, 0, 0}, .strides = {0, 0, 3}};
  layout.strides[1] = layout.strides[2] * box.count[2];
  layout.strides[0] = layout.strides[1] * box.count[1];
  return filled(box, layout, layout.strides[0] * box.count[0]);
}

class MemoryLayoutTest : public ::testing::Test {
 protected:
  StepWriter begin_step(Codec codec = Codec::kNone) {
    WritePlan plan = with_small_memory({});
    plan.codec = codec;
    plan.tuning.unit_bytes = 4_MiB;
    writer_ = runtime_.create_dataset(path(), {.existing = ExistingDataset::kAppend, .plan = plan})
                  .value();
    return writer_->begin_step(++steps_).value();
  }
  StepReader publish(StepWriter& step) {
    auto receipt = step.commit().wait();
    EXPECT_TRUE(receipt) << receipt.error().message();
    EXPECT_TRUE(writer_->close());
    receipt_ = receipt.value_or(Receipt{});
    return runtime_.open_dataset(path()).value().open_step(steps_).value();
  }
  std::string path() const { return directory_ / "run.fb"; }

  const TemporaryDirectory directory_;
  Runtime runtime_;
  std::optional<DatasetWriter> writer_;
  std::uint64_t steps_ = 0;
  Receipt receipt_;
};

/// Two halves of an array that is larger than segments of staging memory.
constexpr std::uint64_t kPlanes = 40;
const Shape kShape{kPlanes, 120, 130};
const Subarray kLower{.shape = kShape, .start = {0, 0, 0}, .count = {15, 120, 130}};
const Subarray kUpper{.shape = kShape, .start = {15, 0, 0}, .count = {25, 120, 130}};

TEST_F(MemoryLayoutTest, array_from_any_memory_is_read_into_any_memory) {
  const Subarray selection{.shape = kShape, .start = {7, 3, 1}, .count = {21, 99, 127}};
  for (const Codec codec : {Codec::kNone, Codec::kZstd}) {
    StepWriter step = begin_step(codec);
    const PlacedBox lower = with_ghosts_around(kLower, ArrayOrder::kC);
    const PlacedBox upper = with_ghosts_around(kUpper, ArrayOrder::kFortran);
    ASSERT_TRUE(step.put("u", lower.box, lower.memory, lower.layout));
    ASSERT_TRUE(step.put("u", upper.box, upper.memory, upper.layout));
    const StepReader reader = publish(step);
    for (const PlacedBox& wanted :
         {with_ghosts_around(selection, ArrayOrder::kC), interleaved(selection),
          with_ghosts_around(selection, ArrayOrder::kFortran)}) {
      std::vector<double> into(wanted.memory.size(), kGhost);
      const auto got = reader.read("u", selection, into, wanted.layout).wait();
      ASSERT_TRUE(got) << got.error().message();
      EXPECT_EQ(*got, element_count(selection.count) * sizeof(double));
      EXPECT_EQ(into, wanted.memory);
    }
  }
}

TEST_F(MemoryLayoutTest, part_keeps_its_values_in_any_memory) {
  const Subarray box{.shape = kUpper.count, .start = {0, 0, 0}, .count = kUpper.count};
  StepWriter step = begin_step();
  const PlacedBox parts[] = {with_ghosts_around(box, ArrayOrder::kC), interleaved(box),
                             with_ghosts_around(box, ArrayOrder::kFortran)};
  for (std::uint64_t number = 0; number < std::size(parts); ++number)
    ASSERT_TRUE(step.put("p", Part{number}, parts[number].memory, box.count, parts[number].layout));
  const StepReader reader = publish(step);
  for (std::uint64_t number = 0; number < std::size(parts); ++number) {
    for (const PlacedBox& wanted : parts) {
      std::vector<double> into(wanted.memory.size(), kGhost);
      ASSERT_TRUE(reader.read("p", Part{number}, into, wanted.layout).wait());
      EXPECT_EQ(into, wanted.memory);
    }
    std::vector<double> first(2);
    ASSERT_TRUE(reader.read("p", Part{number}, 1, first).wait());
    EXPECT_EQ(first, (std::vector{value_at({0, 0, 1}), value_at({0, 0, 2})}));
  }
}

TEST_F(MemoryLayoutTest, part_that_is_one_run_is_read_in_place) {
  StepWriter step = begin_step();
  const PlacedBox part = filled({.shape = {3, 4, 5}, .start = {0, 0, 0}, .count = {3, 4, 5}},
                                {.shape = {5, 4, 5}, .start = {1, 0, 0}}, 5 * 4 * 5);
  ASSERT_TRUE(step.put("p", Part{1}, part.memory, part.box.count, part.layout));
  const StepReader reader = publish(step);
  std::vector<double> into(part.memory.size(), kGhost);
  ASSERT_TRUE(reader.read("p", Part{1}, into, part.layout).wait());
  EXPECT_EQ(into, part.memory);
}

TEST_F(MemoryLayoutTest, adopted_buffers_are_counted_as_adopted_or_copied) {
  StepWriter step = begin_step();
  const Subarray planes{.shape = {8, 32, 16}, .start = {0, 0, 0}, .count = {4, 32, 16}};
  const Subarray inner{.shape = {8, 32, 16}, .start = {4, 0, 0}, .count = {4, 32, 16}};
  const PlacedBox in_place =
      filled(planes, {.shape = {6, 32, 16}, .start = {1, 0, 0}}, 6 * 32 * 16);
  const PlacedBox packed = with_ghosts_around(inner, ArrayOrder::kC);
  for (const PlacedBox* one : {&in_place, &packed}) {
    auto buffer = runtime_.allocate(one->memory.size() * sizeof(double));
    ASSERT_TRUE(buffer);
    std::ranges::copy(one->memory, buffer->as<double>().begin());
    ASSERT_TRUE(step.put<double>("u", one->box, adopt(std::move(*buffer)), one->layout));
  }
  const StepReader reader = publish(step);
  const std::uint64_t block_bytes = 4 * 32 * 16 * sizeof(double);
  EXPECT_EQ(receipt_.adopted_bytes, block_bytes);
  EXPECT_EQ(receipt_.copied_bytes, block_bytes);
  EXPECT_EQ(receipt_.bytes, 2 * block_bytes);
  const Subarray all{.shape = {8, 32, 16}, .start = {0, 0, 0}, .count = {8, 32, 16}};
  std::vector<double> into(element_count(all.count));
  ASSERT_TRUE(reader.read("u", all, into).wait());
  for (std::uint64_t i = 0; i < into.size(); ++i)
    ASSERT_EQ(into[i], value_at(place_of(all, i)));
}

TEST_F(MemoryLayoutTest, fill_reaches_missing_elements_and_no_ghosts) {
  StepWriter step = begin_step();
  const PlacedBox lower = with_ghosts_around(kLower, ArrayOrder::kC);
  ASSERT_TRUE(step.put("u", lower.box, lower.memory, lower.layout));
  const StepReader reader = publish(step);
  const Subarray selection{.shape = kShape, .start = {13, 5, 5}, .count = {4, 6, 7}};
  for (const ArrayOrder order : {ArrayOrder::kC, ArrayOrder::kFortran}) {
    PlacedBox wanted = with_ghosts_around(selection, order);
    std::vector<double> into(wanted.memory.size(), kGhost);
    EXPECT_EQ(error_class(reader.read("u", selection, into, wanted.layout).wait()),
              ErrorClass::kNotFound);
    EXPECT_EQ(into, std::vector<double>(into.size(), kGhost));
    for (std::uint64_t i = 0; i < element_count(selection.count); ++i)
      if (const Shape place = place_of(selection, i); place[0] >= 15)
        wanted.memory[offset_of(wanted, place)] = 0.5;
    const auto got = reader.read("u", selection, into, wanted.layout, 0.5).wait();
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(into, wanted.memory);
  }
}

TEST_F(MemoryLayoutTest, bytes_of_any_type_use_the_elements_of_the_field) {
  StepWriter step = begin_step();
  const std::vector<std::complex<double>> values{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  ASSERT_TRUE(step.put("z", Part{0}, values, {2, 2}));
  const StepReader reader = publish(step);
  std::vector<std::complex<double>> transposed(4);
  const MemoryLayout fortran{.order = ArrayOrder::kFortran};
  ASSERT_TRUE(reader.read("z", Part{0}, writable_bytes(transposed), fortran).wait());
  EXPECT_EQ(transposed, (std::vector<std::complex<double>>{{1, 2}, {5, 6}, {3, 4}, {7, 8}}));
}

TEST_F(MemoryLayoutTest, layout_that_does_not_fit_is_refused) {
  StepWriter step = begin_step();
  const PlacedBox lower = with_ghosts_around(kLower, ArrayOrder::kC);
  ASSERT_TRUE(step.put("u", lower.box, lower.memory, lower.layout));
  ASSERT_TRUE(step.put("p", Part{0}, std::vector<double>(12), {3, 4}));
  ASSERT_TRUE(step.put("p", Part{1}, std::vector<double>(), {0, 4}, {.strides = {9, 1}}));
  const StepReader reader = publish(step);
  std::vector<double> memory(20);
  const auto part = reader.read("p", Part{0}, memory, with_ghosts({3, 4}, 1)).wait();
  ASSERT_EQ(error_class(part), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(part.error(), "30 elements of 8 bytes")) << part.error().message();
  EXPECT_TRUE(message_contains(part.error(), path())) << part.error().message();
  const auto overlapping = reader.read("p", Part{0}, memory, {.strides = {3, 1}}).wait();
  ASSERT_EQ(error_class(overlapping), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(overlapping.error(), "stride 3 in dimension 0"));
  const Subarray selection{.start = {0, 0, 0}, .count = {1, 2, 3}};
  const auto outside = reader.read("u", selection, memory, {.shape = {1, 2}}).wait();
  EXPECT_EQ(error_class(outside), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(reader.read("p", Part{7}, memory, {.strides = {4, 1}}).wait()),
            ErrorClass::kNotFound);
  std::vector<double> none;
  EXPECT_TRUE(reader.read("p", Part{1}, none, {.strides = {9, 1}}).wait());
}

TEST_F(MemoryLayoutTest, step_with_a_refused_layout_cannot_be_committed) {
  StepWriter step = begin_step();
  const std::vector<double> memory(20);
  const Status put = step.put("p", Part{0}, memory, {3, 4}, with_ghosts({3, 4}, 1));
  ASSERT_EQ(error_class(put), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(put.error(), "put field 'p'")) << put.error().message();
  EXPECT_EQ(error_class(step.commit().wait()), ErrorClass::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
