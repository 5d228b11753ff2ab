// SPDX-License-Identifier: Apache-2.0
// Parts of datasets, read by one process.
#include <algorithm>
#include <atomic>
#include <random>

#include <gtest/gtest.h>

#include "runtime/dataset_reader_testing.hpp"

namespace forebay {
namespace {

using format::Codec;
using format::TestStep;
using format::TestWriter;

/// A dataset with one step, and a Runtime.
class DatasetReaderTest : public testing::Test {
 protected:
  void write(const TestStep& step) { writer_.write(step); }
  StepReader newest(const DatasetReadOptions& options = {}) {
    return open_newest_step(runtime_, path_, options);
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "run.fb";
  TestWriter writer_{path_, format::test_dataset_id()};
  Runtime runtime_{test_options()};
};

TEST_F(DatasetReaderTest, steps_fields_and_parts_are_listed) {
  write(format::test_step(3, 5, 2));
  write(format::test_step(7, 6, 3));
  const auto dataset = runtime_.open_dataset(path_);
  ASSERT_TRUE(dataset) << dataset.error().message();
  EXPECT_EQ(dataset->path(), path_);
  EXPECT_EQ(std::vector(dataset->steps().begin(), dataset->steps().end()),
            (std::vector<std::uint64_t>{3, 7}));
  EXPECT_EQ(dataset->newest_step(), 7U);
  EXPECT_TRUE(dataset->errors().empty());
  const auto step = dataset->open_step(7);
  ASSERT_TRUE(step) << step.error().message();
  EXPECT_EQ(step->number(), 7U);
  ASSERT_EQ(step->fields().size(), 2U);
  EXPECT_EQ(step->fields()[0].name, "pressure");
  EXPECT_EQ(step->fields()[0].type, ElementType::kFloat64);
  EXPECT_EQ(step->fields()[0].kind, FieldKind::kParts);
  EXPECT_EQ(step->fields()[1].dimensions, 2U);
  EXPECT_EQ(step->fields()[1].blocks, 6U);
  EXPECT_EQ(step->shape("velocity", Part{2}), (Shape{174, 3}));
  EXPECT_EQ(step->element_count("velocity", Part{2}), 174U * 3);
  EXPECT_EQ(step->parts("pressure")->size(), 6U);
  EXPECT_TRUE(step->has("pressure", Part{5}));
  EXPECT_FALSE(step->has("pressure", Part{6}));
  EXPECT_EQ(step->find("density"), nullptr);
}

TEST_F(DatasetReaderTest, parts_have_the_written_values) {
  for (const Codec codec : {Codec::kNone, Codec::kZstd}) {
    TestStep written = large_step(codec == Codec::kNone ? 1 : 2, 20, 3);
    written.codec = codec;
    write(written);
    const StepReader step = newest();
    for (std::uint64_t part = 0; part < 20; ++part)
      expect_part(step, Part{part});
  }
}

// Their sessions need more memory than the budget, and none waits for another.
TEST_F(DatasetReaderTest, requests_in_flight_may_exceed_the_budget) {
  constexpr std::uint32_t kAtOnce = 12;
  write(large_step(1, 3 * kAtOnce, kAtOnce));
  RuntimeOptions options;
  options.budget_bytes = 4_MiB;
  Runtime runtime{test_options(options)};
  for (const std::uint64_t window_bytes : {0_MiB, 2_MiB}) {
    DatasetReadOptions stored;
    stored.plan.tuning.window_bytes = window_bytes;
    const StepReader step = open_newest_step(runtime, path_, stored);
    std::vector<std::vector<double>> values;
    std::vector<Future<ByteCount>> under_way;
    for (std::uint64_t part = 0; part < 3 * kAtOnce; ++part) {
      values.emplace_back(elements_in(part));
      under_way.push_back(step.read("speed", Part{part}, std::span(values.back())));
    }
    for (std::uint64_t part = 3 * kAtOnce; part-- > 0;) {
      const auto got = under_way[part].wait();
      ASSERT_TRUE(got) << got.error().message();
      EXPECT_EQ(values[part], values_of(1, part, values[part].size()));
    }
  }
}

TEST_F(DatasetReaderTest, empty_part_reads_zero_bytes) {
  write(large_step(1, 6, 2));
  const StepReader step = newest();
  EXPECT_EQ(step.shape("speed", Part{1}), Shape{0});
  EXPECT_EQ(step.read("speed", Part{1}, std::span<double>()).wait(), ByteCount{0});
}

TEST_F(DatasetReaderTest, several_parts_are_one_request_in_the_given_order) {
  write(large_step(1, 30, 4));
  const StepReader step = newest();
  const std::vector<Part> parts = {{17}, {3}, {29}, {1}, {3}, {14}, {8}};
  const auto sizes = step.element_count("speed", parts);
  ASSERT_TRUE(sizes) << sizes.error().message();
  std::vector<double> expected;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(sizes->at(i), elements_in(parts[i].number));
    const auto values = values_of(1, parts[i].number, sizes->at(i));
    expected.insert(expected.end(), values.begin(), values.end());
  }
  std::vector<double> values(expected.size());
  const auto got = step.read("speed", std::span(parts), std::span(values)).wait();
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(values, expected);
}

TEST_F(DatasetReaderTest, any_range_of_a_part_can_be_read) {
  std::mt19937_64 random(read::Random().seed());
  for (const Codec codec : {Codec::kNone, Codec::kZstd}) {
    TestStep written = large_step(codec == Codec::kNone ? 1 : 2, 12, 2);
    written.codec = codec;
    write(written);
    for (const Verification verification : {Verification::kOn, Verification::kOff}) {
      const StepReader step = newest({.verification = verification});
      for (int round = 0; round < 60; ++round) {
        const std::uint64_t part = random() % 12;
        const std::uint64_t from = random() % (elements_in(part) + 1);
        std::vector<double> values(random() % (elements_in(part) - from + 1));
        const auto got = step.read("speed", Part{part}, from, std::span(values)).wait();
        ASSERT_TRUE(got) << got.error().message();
        for (std::size_t i = 0; i < values.size(); ++i)
          ASSERT_EQ(values[i], value_at(written.step, part, from + i));
      }
    }
  }
}

// All but the first leave the load to the request before them. Some requests are dropped, and with
// them the load.
TEST_F(DatasetReaderTest, small_requests_in_flight_may_share_a_piece) {
  constexpr std::uint64_t kElements = 500;
  constexpr std::uint64_t kPart = 3;
  for (const Codec codec : {Codec::kNone, Codec::kZstd}) {
    TestStep written = large_step(codec == Codec::kNone ? 1 : 2, 6, 1);
    written.codec = codec;
    write(written);
    const StepReader step = newest();
    const std::uint64_t count = elements_in(kPart) / kElements;
    std::vector<std::vector<double>> values(count, std::vector<double>(kElements));
    std::vector<Future<ByteCount>> under_way;
    for (std::uint64_t i = 0; i < count; ++i)
      under_way.push_back(step.read("speed", Part{kPart}, i * kElements, std::span(values[i])));
    for (std::uint64_t i = count; i-- > 0;) {
      Future<ByteCount> request = std::move(under_way[i]);
      if (i % 3 == 0) continue;
      const auto got = request.wait();
      ASSERT_TRUE(got) << got.error().message();
      for (std::uint64_t k = 0; k < kElements; ++k)
        ASSERT_EQ(values[i][k], value_at(written.step, kPart, i * kElements + k));
    }
  }
}

TEST_F(DatasetReaderTest, range_outside_its_part_is_rejected) {
  write(large_step(1, 6, 1));
  std::vector<double> two(2);
  const auto got = newest().read("speed", Part{0}, 999, std::span(two)).wait();
  ASSERT_EQ(error_class(got), ErrorClass::kOutOfRange);
  EXPECT_TRUE(message_contains(got.error(), "part 0 has 1000 elements")) << got.error().message();
}

TEST_F(DatasetReaderTest, other_type_is_an_error_that_names_both) {
  write(format::test_step(1, 3, 1));
  const StepReader step = newest();
  std::vector<double> values(174 * 3);
  const auto got = step.read("velocity", Part{2}, std::span(values)).wait();
  ASSERT_EQ(error_class(got), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(got.error(), "float32")) << got.error().message();
  EXPECT_TRUE(message_contains(got.error(), "float64"));
  std::vector<std::byte> bytes(174 * 3 * 4);
  EXPECT_TRUE(step.read("velocity", Part{2}, std::span(bytes)).wait());
  EXPECT_EQ(bytes, format::test_step(1, 3, 1).blocks[5].raw);
}

TEST_F(DatasetReaderTest, missing_field_part_and_step_are_named) {
  write(large_step(5, 6, 2));
  const StepReader step = newest();
  double one = 0;
  const auto field = step.read("heat", Part{0}, std::span(&one, 1)).wait();
  ASSERT_EQ(error_class(field), ErrorClass::kNotFound);
  EXPECT_TRUE(message_contains(field.error(), "step 5, field heat")) << field.error().message();
  EXPECT_TRUE(message_contains(field.error(), "fields of this step: ")) << field.error().message();
  for (const FieldInfo& known : step.fields())
    EXPECT_TRUE(message_contains(field.error(), known.name)) << field.error().message();
  const auto part = step.read("speed", Part{77}, std::span(&one, 1)).wait();
  ASSERT_EQ(error_class(part), ErrorClass::kNotFound);
  EXPECT_TRUE(message_contains(part.error(), "part 77")) << part.error().message();
  const auto dataset = runtime_.open_dataset(path_);
  EXPECT_EQ(error_class(dataset->open_step(6)), ErrorClass::kNotFound);
  EXPECT_EQ(error_class(runtime_.open_dataset(directory_ / "none")), ErrorClass::kNotFound);
  const auto size = step.read("speed", Part{0}, std::span(&one, 1)).wait();
  EXPECT_EQ(error_class(size), ErrorClass::kInvalidArgument);
}

TEST_F(DatasetReaderTest, field_names_are_utf8) {
  TestStep written = large_step(1, 3, 1);
  for (format::TestBlock& block : written.blocks)
    block.field.name = "Geschwindigkeit ∇φ";
  write(written);
  std::vector<double> values(elements_in(2));
  ASSERT_TRUE(newest().read("Geschwindigkeit ∇φ", Part{2}, std::span(values)).wait());
  EXPECT_EQ(values, values_of(1, 2, values.size()));
}

TEST_F(DatasetReaderTest, other_byte_order_is_swapped) {
  TestStep written = large_step(1, 4, 1);
  for (format::TestBlock& block : written.blocks) {
    block.field.order = ByteOrder::kBig;
    for (std::size_t at = 0; at < block.raw.size(); at += sizeof(double))
      std::ranges::reverse(std::span(block.raw).subspan(at, sizeof(double)));
  }
  write(written);
  const StepReader step = newest();
  for (std::uint64_t part = 0; part < 4; ++part)
    expect_part(step, Part{part});
  std::vector<double> every_second(elements_in(2) * 2);
  ASSERT_TRUE(step.read("speed", Part{2}, every_second, {.strides = {2}}).wait());
  const auto values = values_of(1, 2, elements_in(2));
  for (std::uint64_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(every_second[2 * i], values[i]);
}

TEST_F(DatasetReaderTest, hundred_thousand_small_parts_are_one_request) {
  constexpr std::uint64_t kParts = 100'000;
  TestStep written{.step = 1, .files = 2};
  for (std::uint64_t part = 0; part < kParts; ++part)
    written.blocks.push_back({.field = {.name = "n", .type = ElementType::kUint64},
                              .part = part,
                              .start = {},
                              .shape = {1 + part % 3},
                              .raw = to_bytes(std::vector<std::uint64_t>(1 + part % 3, part)),
                              .file = static_cast<std::uint32_t>(part % 2)});
  write(written);
  const StepReader step = newest();
  std::vector<Part> parts = step.parts("n").value();
  ASSERT_EQ(parts.size(), kParts);
  std::shuffle(parts.begin(), parts.end(), std::mt19937_64(1));
  std::vector<std::uint64_t> expected;
  for (const Part part : parts)
    expected.insert(expected.end(), 1 + part.number % 3, part.number);
  std::vector<std::uint64_t> values(expected.size());
  const auto got = step.read("n", std::span<const Part>(parts), std::span(values)).wait();
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(values, expected);
}

TEST_F(DatasetReaderTest, small_requests_across_files_reuse_their_sessions) {
  TestStep written{.step = 1, .files = 4};
  for (std::uint64_t part = 0; part < 4000; ++part)
    written.blocks.push_back({.field = {.name = "n", .type = ElementType::kUint64},
                              .part = part,
                              .start = {},
                              .shape = {128},
                              .raw = to_bytes(std::vector<std::uint64_t>(128, part)),
                              .file = static_cast<std::uint32_t>(part % 4)});
  write(written);
  struct Lines final : LogSink {
    void write(LogLevel /*level*/, std::string_view /*line*/) noexcept override { ++count; }
    std::atomic<int> count{0};
  } lines;  // one line for each session
  Runtime runtime(test_options({.log = &lines}));
  const StepReader step = open_newest_step(runtime, path_);
  for (std::uint64_t part = 0; part < 4000; ++part) {
    std::vector<std::uint64_t> values(128);
    ASSERT_TRUE(step.read("n", Part{part}, std::span(values)).wait());
    ASSERT_EQ(values, std::vector<std::uint64_t>(128, part));
  }
  EXPECT_LE(lines.count, 4 + 1);  // and perhaps one about the machine
}

TEST_F(DatasetReaderTest, many_requests_may_be_in_flight_at_once) {
  write(large_step(1, 40, 5));
  const StepReader step = newest();
  std::vector<std::vector<double>> memory;
  std::vector<Future<ByteCount>> requests;
  for (std::uint64_t part = 0; part < 40; ++part) {
    memory.emplace_back(elements_in(part));
    requests.push_back(step.read("speed", Part{part}, std::span(memory.back())));
  }
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::uint64_t part = (i * 17) % 40;
    const auto got = requests[part].wait();
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(memory[part], values_of(1, part, memory[part].size()));
  }
}

TEST_F(DatasetReaderTest, dropped_request_does_not_touch_the_buffer) {
  write(large_step(1, 4, 1));
  const StepReader step = newest();
  std::vector<double> values(elements_in(3));
  {
    const auto dropped = step.read("speed", Part{3}, std::span(values));
  }
  std::vector<double> before = values;
  for (std::uint64_t part = 0; part < 4; ++part)
    expect_part(step, Part{part});
  EXPECT_EQ(values, before);
}

TEST_F(DatasetReaderTest, little_memory_is_enough) {
  write(large_step(1, 20, 6));
  Runtime small(test_options({.budget_bytes = 300_KiB}));
  const StepReader step = open_newest_step(small, path_);
  for (std::uint64_t part = 0; part < 20; ++part)
    expect_part(step, Part{part});
}

TEST_F(DatasetReaderTest, buffered_and_direct_access_read_the_same) {
  write(large_step(1, 12, 2));
  for (const Access access : {Access::kBuffered, Access::kDirect}) {
    if (access == Access::kDirect && !can_read_directly(path_ + "/data-000000.00000"))
      GTEST_SKIP() << "no direct access in this directory";
    const StepReader step = newest({.plan = {.access = access}});
    for (std::uint64_t part = 0; part < 12; ++part)
      expect_part(step, Part{part});
  }
}

TEST_F(DatasetReaderTest, continuation_receives_parts) {
  write(large_step(1, 6, 2));
  const StepReader step = newest();
  std::vector<double> values(elements_in(3));
  std::optional<Result<ByteCount>> outcome;
  step.read("speed", Part{3}, std::span(values))
      .then(runtime_.event_loop(), [&](Result<ByteCount> got) { outcome = std::move(got); });
  while (!outcome)
    runtime_.event_loop().wait();
  ASSERT_TRUE(outcome->has_value());
  EXPECT_EQ(values, values_of(1, 3, values.size()));
}

}  // namespace
}  // namespace forebay
