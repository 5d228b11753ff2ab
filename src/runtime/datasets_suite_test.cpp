// SPDX-License-Identifier: Apache-2.0
// Datasets written by several ranks with every strategy, and read back without ranks.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/free_memory.hpp"
#include "comm/ranks_access.hpp"
#include "format/catalog.hpp"
#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

constexpr std::uint64_t kParts = 23;

template <class F>
void with_dataset_fixture(F test) {
  comm::CommunicatorTest::run_on_all_ranks([&](const Communicator& communicator) {
    DatasetFixture fixture(communicator);
    test(fixture);
  });
}

constexpr std::array kStrategies{Strategy::kAuto,           Strategy::kSerial,
                                 Strategy::kFilePerProcess, Strategy::kBaton,
                                 Strategy::kCollective,     Strategy::kReducedBlocking,
                                 Strategy::kBrigade,        Strategy::kGather};

/// Writes three steps by the plan and reads them back.
void write_and_read(DatasetFixture& fixture, const std::string& path, const WritePlan& plan) {
  SCOPED_TRACE(std::string(name_of(plan.strategy)) + ", writers " + std::to_string(plan.writers) +
               ", files " + std::to_string(plan.files));
  {
    auto dataset = fixture.runtime.create_dataset(path, {.plan = with_small_memory(plan)});
    ASSERT_TRUE(dataset) << dataset.error().message();
    if (plan.tuning.checksum_stage != ChecksumStage::kAuto) {
      EXPECT_EQ(dataset->plan().tuning.checksum_stage, plan.tuning.checksum_stage);
    }
    for (const std::uint64_t number : {3U, 4U, 10U}) {
      const auto receipt = write_parts(fixture, *dataset, number, kParts);
      ASSERT_TRUE(receipt) << receipt.error().message();
      EXPECT_EQ(receipt->step, number);
    }
    EXPECT_TRUE(dataset->close());
  }
  fixture.barrier();
  if (fixture.is_first()) {
    EXPECT_TRUE(has_steps(path, {3, 4, 10}, kParts));
    EXPECT_TRUE(matches_plan(path, plan));
  }
  fixture.barrier();
}

TEST_P(DatasetSuite, every_strategy_is_readable_without_ranks) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    for (const Strategy strategy : kStrategies)
      write_and_read(fixture, fixture.directory / std::string(name_of(strategy)),
                     {.strategy = strategy});
  });
}

TEST_P(DatasetSuite, any_number_of_writers_and_files_works) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    for (std::uint32_t writers = 1; writers <= fixture.runtime.rank_count(); writers += 2)
      for (std::uint32_t files = 1; files <= writers; files += 2) {
        const std::string name = "w" + std::to_string(writers) + "f" + std::to_string(files);
        write_and_read(
            fixture, fixture.directory / name,
            {.strategy = Strategy::kReducedBlocking, .writers = writers, .files = files});
      }
  });
}

TEST_P(DatasetSuite, steps_are_written_while_the_next_ones_are_put) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    for (const Strategy strategy : kStrategies) {
      SCOPED_TRACE(name_of(strategy));
      const std::string path = fixture.directory / std::string(name_of(strategy));
      WritePlan plan{.strategy = strategy, .tuning = {.unit_bytes = 1_MiB}};
      plan.memory_bytes = 4_MiB;
      plan.steps_in_flight = 3;
      plan.tuning.steps_per_group = 2;
      auto dataset = fixture.runtime.create_dataset(path, {.plan = plan});
      ASSERT_TRUE(dataset) << dataset.error().message();
      std::vector<Future<Receipt>> receipts;
      std::vector<std::uint64_t> steps(7);
      std::iota(steps.begin(), steps.end(), 1U);
      for (const std::uint64_t number : steps)
        receipts.push_back(start_writing_parts(fixture, *dataset, number, kParts));
      for (Future<Receipt>& receipt : receipts) {
        const auto got = receipt.wait();
        EXPECT_TRUE(got) << got.error().message();
      }
      EXPECT_TRUE(dataset->close());
      EXPECT_LE(dataset->report().staging_bytes_max, dataset->plan().memory_bytes);
      fixture.barrier();
      if (fixture.is_first()) {
        EXPECT_TRUE(has_steps(path, steps, kParts));
      }
      fixture.barrier();
    }
  });
}

TEST_P(DatasetSuite, rejected_block_fails_its_step) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    auto dataset = fixture.runtime.create_dataset(fixture.path(), {.plan = with_small_memory({})});
    ASSERT_TRUE(dataset) << dataset.error().message();
    auto step = dataset->begin_step(1);
    ASSERT_TRUE(step) << step.error().message();
    const std::vector<double> values(6, 1.0);
    const Subarray block{
        .shape = {2, 3}, .start = {0, 0}, .count = {2, 3}, .order = ArrayOrder::kFortran};
    EXPECT_EQ(error_class(step->put("values", block, std::span(values))),
              ErrorClass::kInvalidArgument);
    EXPECT_EQ(error_class(step->commit().wait()), ErrorClass::kInvalidArgument);
    std::ignore = dataset->close();
  });
}

TEST_P(DatasetSuite, block_with_different_dimensions_is_rejected) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    auto dataset = fixture.runtime.create_dataset(fixture.path(), {.plan = with_small_memory({})});
    ASSERT_TRUE(dataset) << dataset.error().message();
    auto step = dataset->begin_step(1);
    ASSERT_TRUE(step) << step.error().message();
    const std::vector<double> values(4, 1.0);
    // The total number of values is right.
    const Subarray block{.shape = {4, 4, 4}, .start = {0, 0}, .count = {1, 1, 2, 2}};
    const Status put = step->put("values", block, std::span(values));
    ASSERT_EQ(error_class(put), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(message_contains(put.error(), "have 3, 2 and 4 dimensions"))
        << put.error().message();
    EXPECT_EQ(error_class(step->commit().wait()), ErrorClass::kInvalidArgument);
    std::ignore = dataset->close();
  });
}

TEST_P(DatasetSuite, open_datasets_do_not_wait_for_each_other) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    for (const Strategy strategy : kStrategies) {
      SCOPED_TRACE(name_of(strategy));
      const std::string directory = fixture.directory / std::string(name_of(strategy));
      auto first = fixture.runtime.create_dataset(
          directory + "-a", {.plan = with_small_memory({.strategy = strategy})});
      auto second = fixture.runtime.create_dataset(
          directory + "-b", {.plan = with_small_memory({.strategy = strategy})});
      ASSERT_TRUE(first && second);
      auto held = first->begin_step(1);
      ASSERT_TRUE(held) << held.error().message();
      EXPECT_TRUE(write_parts(fixture, *second, 1, kParts));
      EXPECT_TRUE(held->commit().wait());
      EXPECT_TRUE(first->close());
      EXPECT_TRUE(second->close());
    }
  });
}

TEST_P(DatasetSuite, appending_plans_for_steps_as_large_as_the_last_one) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    {
      auto dataset =
          fixture.runtime.create_dataset(fixture.path(), {.plan = with_small_memory({})});
      ASSERT_TRUE(dataset) << dataset.error().message();
      ASSERT_TRUE(write_parts(fixture, *dataset, 1, kParts));
      EXPECT_TRUE(dataset->close());
    }
    fixture.barrier();
    auto dataset =
        fixture.runtime.create_dataset(fixture.path(), {.existing = ExistingDataset::kAppend});
    ASSERT_TRUE(dataset) << dataset.error().message();
    EXPECT_LT(dataset->plan().memory_bytes, 16_MiB);
    EXPECT_TRUE(write_parts(fixture, *dataset, 2, kParts));
    EXPECT_TRUE(dataset->close());
    fixture.barrier();
  });
}

std::uint64_t ranks_of_node(const comm::Communicator& ranks) {
  return ranks.nodes().ranks_of(ranks.nodes().node_of(ranks.rank())).size();
}

TEST_P(DatasetSuite, staging_of_a_new_dataset_is_a_share_of_the_free_memory) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    fixture.barrier();
    const auto share = [&fixture] {
      const auto free = free_memory_bytes().value_or(0) / 4 / ranks_of_node(fixture.ranks);
      return std::min<std::uint64_t>(free, 1_GiB);
    };
    const std::uint64_t before = share();
    auto dataset = fixture.runtime.create_dataset(fixture.path());
    ASSERT_TRUE(dataset) << dataset.error().message();
    const std::uint64_t after = share();
    // Free memory changes meanwhile, because other programs run.
    EXPECT_GE(dataset->plan().memory_bytes, std::min(before, after) / 4 * 3);
    EXPECT_LE(dataset->plan().memory_bytes, std::max({before, after, 16_MiB}) / 3 * 4);
    EXPECT_TRUE(dataset->close());
    fixture.barrier();
  });
}

TEST_P(DatasetSuite, ranks_of_a_node_share_the_cache_of_freed_buffers) {
  comm::CommunicatorTest::run_on_all_ranks([](const Communicator& communicator) {
    // Each rank may keep the same share: first one buffer, then none.
    for (const bool is_kept : {true, false}) {
      const std::uint64_t ranks = ranks_of_node(*communicator);
      const std::uint64_t bytes = is_kept ? 4_MiB * ranks : 4_MiB * ranks - 4096;
      Runtime runtime(comm::make_ranks(communicator),
                      test_options({.tuning = {.buffer_cache_bytes = bytes}}));
      {
        auto buffer = runtime.allocate(4_MiB);
        ASSERT_TRUE(buffer) << buffer.error().message();
        buffer->as<std::byte>()[0] = std::byte{7};
      }
      const auto next = runtime.allocate(4_MiB);
      ASSERT_TRUE(next) << next.error().message();
      EXPECT_EQ(next->as<std::byte>()[0] == std::byte{7}, is_kept);
    }
  });
}

// Before, receipts were durable, and the bytes of such a rank were in a directory that no reader
// opens.
TEST_P(DatasetSuite, different_directories_on_ranks_are_an_error) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    if (fixture.runtime.rank_count() == 1) return;
    const bool is_last = fixture.runtime.rank() == fixture.runtime.rank_count() - 1;
    const std::string path = fixture.directory / (is_last ? "other.fb" : "run.fb");
    if (is_last) std::filesystem::create_directory(path);
    const auto dataset = fixture.runtime.create_dataset(
        path, {.plan = with_small_memory({.strategy = Strategy::kFilePerProcess})});
    ASSERT_EQ(error_class(dataset), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(message_contains(dataset.error(), "other.fb")) << dataset.error().message();
  });
}

TEST_P(DatasetSuite, close_waits_only_for_committed_steps) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    auto dataset = fixture.runtime.create_dataset(fixture.path(), {.plan = with_small_memory({})});
    ASSERT_TRUE(dataset) << dataset.error().message();
    ASSERT_TRUE(write_parts(fixture, *dataset, 1, kParts));
    auto step = dataset->begin_step(2);
    ASSERT_TRUE(step) << step.error().message();
    EXPECT_TRUE(dataset->close());
    const std::vector<float> values(12);
    EXPECT_TRUE(step->put("velocity", Part{fixture.runtime.rank()}, std::span(values)));
    const auto receipt = step->commit().wait();
    EXPECT_TRUE(receipt) << receipt.error().message();
    fixture.barrier();
  });
}

TEST_P(DatasetSuite, runtime_end_does_not_wait_for_uncommitted_steps) {
  comm::CommunicatorTest::run_on_all_ranks([](const Communicator& communicator) {
    const comm::SharedDirectory directory(communicator);
    std::optional<StepWriter> step;
    WritePlan plan = with_small_memory({});
    plan.step_timeout = std::chrono::hours(1);  // longer than this test may take
    {
      Runtime runtime(comm::make_ranks(communicator), test_options({}));
      auto dataset = runtime.create_dataset(directory / "run.fb", {.plan = plan});
      ASSERT_TRUE(dataset) << dataset.error().message();
      auto begun = dataset->begin_step(1);
      ASSERT_TRUE(begun) << begun.error().message();
      step.emplace(std::move(*begun));
    }
    EXPECT_EQ(error_class(step->commit().wait()), ErrorClass::kClosed);
    EXPECT_TRUE(communicator->barrier());
  });
}

TEST_P(DatasetSuite, less_memory_than_a_step_is_enough) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    for (const Strategy strategy : kStrategies) {
      const WritePlan plan{
          .strategy = strategy, .memory_bytes = 2_MiB, .tuning = {.unit_bytes = 1_MiB}};
      write_and_read(fixture, fixture.directory / std::string(name_of(strategy)), plan);
    }
  });
}

TEST_P(DatasetSuite, compressed_pieces_are_read_back) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    for (const Strategy strategy : {Strategy::kFilePerProcess, Strategy::kSerial}) {
      const WritePlan plan{
          .strategy = strategy, .codec = Codec::kZstd, .tuning = {.unit_bytes = 1_MiB}};
      write_and_read(fixture, fixture.directory / std::string(name_of(strategy)), plan);
    }
  });
}

TEST_P(DatasetSuite, agents_or_copies_compute_checksums) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    for (const ChecksumStage by : {ChecksumStage::kAgent, ChecksumStage::kCopy}) {
      const WritePlan plan{.strategy = Strategy::kFilePerProcess, .tuning = {.checksum_stage = by}};
      const std::string path = fixture.directory / std::string(name_of(by));
      write_and_read(fixture, path, plan);
    }
  });
}

TEST_P(DatasetSuite, steps_share_files_if_planned) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    const WritePlan plan{.strategy = Strategy::kReducedBlocking, .tuning = {.steps_per_group = 2}};
    write_and_read(fixture, fixture.path(), plan);
    const auto catalog = format::Catalog::open(fixture.path());
    ASSERT_TRUE(catalog) << catalog.error().message();
    const auto steps = (*catalog)->steps();
    ASSERT_EQ(steps.size(), 3U);
    EXPECT_EQ(steps[0].group, steps[1].group);
    EXPECT_NE(steps[1].group, steps[2].group);
  });
}

TEST_P(DatasetSuite, adopted_buffers_are_written_without_a_copy) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    for (const Strategy strategy : kStrategies) {
      const std::string path = fixture.directory / std::string(name_of(strategy));
      auto dataset =
          fixture.runtime.create_dataset(path, {.plan = with_small_memory({.strategy = strategy})});
      ASSERT_TRUE(dataset) << dataset.error().message();
      auto step = dataset->begin_step(1);
      ASSERT_TRUE(step) << step.error().message();
      const auto mine = parts_of(fixture.runtime.rank(), fixture.runtime.rank_count(), kParts);
      for (const std::uint64_t part : mine) {
        const std::vector<double> values = values_of_part(1, part);
        auto buffer = fixture.runtime.allocate(values.size() * sizeof(double));
        ASSERT_TRUE(buffer) << buffer.error().message();
        std::ranges::copy(values, buffer->as<double>().begin());
        const Status put = step->put<double>("values", Part{part}, adopt(std::move(*buffer)));
        ASSERT_TRUE(put) << put.error().message();
      }
      const auto receipt = step->commit().wait();
      ASSERT_TRUE(receipt) << receipt.error().message();
      EXPECT_EQ(receipt->copied_bytes, 0U);
      fixture.barrier();
      if (fixture.is_first()) {
        EXPECT_TRUE(has_steps(path, {1}, kParts));
      }
      fixture.barrier();
    }
  });
}

TEST_P(DatasetSuite, report_includes_memory_for_received_bytes) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    for (const Strategy strategy : {Strategy::kBrigade, Strategy::kGather}) {
      const std::string path = fixture.directory / std::string(name_of(strategy));
      auto dataset = fixture.runtime.create_dataset(
          path, {.plan = with_small_memory({.strategy = strategy, .writers = 1})});
      ASSERT_TRUE(dataset) << dataset.error().message();
      auto step = dataset->begin_step(1);
      ASSERT_TRUE(step) << step.error().message();
      const std::vector<double> values(1000, 1.0);
      if (!fixture.is_first()) {
        EXPECT_TRUE(step->put("values", Part{fixture.runtime.rank()}, std::span(values)));
      }
      ASSERT_TRUE(step->commit().wait());
      const bool has_some = !fixture.is_first() || fixture.runtime.rank_count() > 1;
      EXPECT_EQ(dataset->report().staging_bytes_max > 0, has_some);
    }
  });
}

TEST_P(DatasetSuite, reopened_dataset_is_appended_with_increasing_numbers) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    for (const std::uint64_t number : {1U, 2U}) {
      auto dataset = fixture.runtime.create_dataset(
          fixture.path(), {.existing = ExistingDataset::kAppend, .plan = with_small_memory({})});
      ASSERT_TRUE(dataset) << dataset.error().message();
      if (number == 2) {
        EXPECT_EQ(dataset->newest_step(), 1U);
        EXPECT_EQ(error_class(dataset->begin_step(1)), ErrorClass::kInvalidArgument);
      }
      EXPECT_TRUE(write_parts(fixture, *dataset, number, kParts));
      EXPECT_TRUE(dataset->close());
      // The lease ends with the Runtime, or when the last rank has left.
      fixture.barrier();
    }
    fixture.barrier();
    if (fixture.is_first()) {
      EXPECT_TRUE(has_steps(fixture.path(), {1, 2}, kParts));
    }
    fixture.barrier();
  });
}

TEST_P(DatasetSuite, existing_dataset_is_an_error_unless_it_is_appended) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    const DatasetOptions options{.plan = with_small_memory({})};
    {
      auto dataset = fixture.runtime.create_dataset(fixture.path(), options);
      ASSERT_TRUE(dataset) << dataset.error().message();
      EXPECT_TRUE(write_parts(fixture, *dataset, 1, kParts));
      EXPECT_TRUE(dataset->close());
    }
    fixture.barrier();
    const auto refused = fixture.runtime.create_dataset(fixture.path(), options);
    ASSERT_EQ(error_class(refused), ErrorClass::kExists);
    EXPECT_EQ(refused.error().path(), fixture.path());
    EXPECT_TRUE(message_contains(refused.error(), "append to it")) << refused.error().message();
    fixture.barrier();
    if (fixture.is_first()) {
      EXPECT_TRUE(has_steps(fixture.path(), {1}, kParts));
    }
    fixture.barrier();
  });
}

TEST_P(DatasetSuite, only_the_newest_steps_are_retained) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    auto dataset = fixture.runtime.create_dataset(
        fixture.path(), {.plan = with_small_memory({.retained_steps = 2})});
    ASSERT_TRUE(dataset) << dataset.error().message();
    for (std::uint64_t number = 1; number <= 6; ++number) {
      const auto receipt = write_parts(fixture, *dataset, number, kParts);
      ASSERT_TRUE(receipt) << receipt.error().message();
    }
    EXPECT_TRUE(dataset->close());
    fixture.barrier();
    // Old steps are removed after the receipt, without waiting.
    if (fixture.is_first()) {
      EXPECT_TRUE(
          read::wait_until([&] { return bool(has_steps(fixture.path(), {5, 6}, kParts)); }));
    }
    fixture.barrier();
  });
}

TEST_P(DatasetSuite, step_aborted_by_one_rank_is_skipped) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    write_with_aborted_step(fixture, kParts);
    fixture.barrier();
    if (fixture.is_first()) {
      EXPECT_TRUE(has_steps(fixture.path(), {1, 3}, kParts));
    }
    fixture.barrier();
  });
}

TEST_P(DatasetSuite, step_aborted_during_hashing_is_resolved) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    const WritePlan plan{.steps_in_flight = 1, .tuning = {.checksum_stage = ChecksumStage::kAgent}};
    auto dataset = fixture.runtime.create_dataset(fixture.path(), {.plan = plan});
    ASSERT_TRUE(dataset) << dataset.error().message();
    const std::vector<double> large(1'000'000, 1.5);
    for (std::uint64_t number = 1; number <= 3; ++number) {
      auto step = dataset->begin_step(number);
      ASSERT_TRUE(step) << step.error().message();
      EXPECT_TRUE(step->put("large", Part{fixture.runtime.rank()}, std::span(large)));
      step->abort();
    }
    EXPECT_TRUE(dataset->close());
    EXPECT_EQ(dataset->report().steps_failed, 3U);
  });
}

// Before, the Error of an aborted step hid later Errors, such as a full disk.
TEST_P(DatasetSuite, close_reports_first_failure_and_count_after_an_abort) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    auto dataset = fixture.runtime.create_dataset(fixture.path());
    ASSERT_TRUE(dataset) << dataset.error().message();
    const std::vector<double> values(10, 1.5);
    for (std::uint64_t number = 1; number <= 3; ++number) {
      auto step = dataset->begin_step(number);
      ASSERT_TRUE(step) << step.error().message();
      const Part part{fixture.runtime.rank()};
      EXPECT_TRUE(step->put("field", part, std::span(values)));
      if (number == 1) continue;  // aborted
      EXPECT_FALSE(step->put("field", part, std::span(values).first(3), Shape{7}));
      EXPECT_FALSE(step->commit().wait());
    }
    const Status closed = dataset->close();
    ASSERT_EQ(error_class(closed), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(message_contains(closed.error(), "the first of 2 steps that failed"))
        << closed.error().message();
  });
}

/// A field on the last rank and on all others, as Errors describe it.
struct FieldMismatch {
  std::string on_last;
  std::string on_others;
};

/// The Error names the rank whose description arrived later. That is the last rank, or a rank that
/// conflicts with it.
void expect_mismatch(const DatasetFixture& fixture, const Error& error, const FieldMismatch& what) {
  EXPECT_EQ(error.kind(), ErrorClass::kInvalidArgument) << error.message();
  const std::uint32_t last = fixture.runtime.rank_count() - 1;
  ASSERT_LE(error.rank().value_or(UINT32_MAX), last) << error.message();
  const bool is_last = error.rank() == last;
  const std::string here = is_last ? what.on_last : what.on_others;
  const std::string there = is_last ? what.on_others : what.on_last;
  EXPECT_TRUE(
      message_contains(error, "field 'velocity' is " + here + " here, and " + there + " on rank "))
      << error.message();
  EXPECT_EQ(message_contains(error, " on rank " + std::to_string(last)), !is_last)
      << error.message();
}

TEST_P(DatasetSuite, different_shapes_on_ranks_are_an_error_that_names_both) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    if (fixture.runtime.rank_count() == 1) return;
    auto dataset = fixture.runtime.create_dataset(fixture.path());
    ASSERT_TRUE(dataset) << dataset.error().message();
    auto step = dataset->begin_step(1);
    ASSERT_TRUE(step) << step.error().message();
    const std::vector<float> values(12);
    const bool is_last = fixture.runtime.rank() == fixture.runtime.rank_count() - 1;
    const Shape shape = is_last ? Shape{3, 4} : Shape{12};
    EXPECT_TRUE(step->put("velocity", Part{fixture.runtime.rank()}, std::span(values), shape));
    const auto receipt = step->commit().wait();
    ASSERT_FALSE(receipt);
    expect_mismatch(fixture, receipt.error(),
                    {.on_last = "float32, parts of 2 dimensions",
                     .on_others = "float32, parts of 1 dimensions"});
    std::ignore = dataset->close();
  });
}

/// Writes a step with one part or block that the last two ranks put, each into its own file; then a
/// step without.
TEST_P(DatasetSuite, block_put_by_two_ranks_fails_the_step_and_names_both) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    const std::uint32_t ranks = fixture.runtime.rank_count();
    if (ranks == 1) return;
    auto dataset = fixture.runtime.create_dataset(
        fixture.path(), {.plan = with_small_memory({.strategy = Strategy::kFilePerProcess})});
    ASSERT_TRUE(dataset) << dataset.error().message();
    EXPECT_TRUE(write_parts(fixture, *dataset, 1, kParts));
    const std::vector<float> values(4);
    const std::uint64_t block = std::min(fixture.runtime.rank(), ranks - 2);
    for (const std::uint64_t number : {2U, 3U}) {
      auto step = dataset->begin_step(number);
      ASSERT_TRUE(step) << step.error().message();
      if (number == 2) {
        EXPECT_TRUE(step->put("values", Part{block}, std::span(values)));
      } else {
        const Subarray box{.shape = {ranks, 4}, .start = {block, 0}, .count = {1, 4}};
        EXPECT_TRUE(step->put("array", box, std::span(values)));
      }
      const auto receipt = step->commit().wait();
      ASSERT_EQ(error_class(receipt), ErrorClass::kInvalidArgument);
      EXPECT_EQ(receipt.error().rank(), ranks - 1);
      const std::string what =
          number == 2 ? "part " + std::to_string(ranks - 2) + " of field values was put"
                      : "blocks of field array overlap";
      for (const std::string& text : {what, std::to_string(ranks - 2), std::to_string(ranks - 1)})
        EXPECT_TRUE(message_contains(receipt.error(), text)) << receipt.error().message();
    }
    EXPECT_TRUE(write_parts(fixture, *dataset, 4, kParts));
    std::ignore = dataset->close();
    fixture.barrier();
    if (fixture.is_first()) {
      EXPECT_TRUE(has_steps(fixture.path(), {1, 4}, kParts));
    }
  });
}

TEST_P(DatasetSuite, different_global_shapes_are_an_error_that_names_both) {
  with_dataset_fixture([](DatasetFixture& fixture) {
    if (fixture.runtime.rank_count() == 1) return;
    auto dataset = fixture.runtime.create_dataset(fixture.path());
    ASSERT_TRUE(dataset) << dataset.error().message();
    auto step = dataset->begin_step(1);
    ASSERT_TRUE(step) << step.error().message();
    // As many elements in total, and no overlapping blocks.
    const std::uint64_t rank = fixture.runtime.rank();
    const bool is_last = rank == fixture.runtime.rank_count() - 1;
    const Shape shape = is_last ? Shape{12, 8} : Shape{8, 12};
    const std::vector<float> values(4);
    const Subarray block{.shape = shape, .start = {rank, 0}, .count = {1, 4}};
    EXPECT_TRUE(step->put("velocity", block, std::span(values)));
    const auto receipt = step->commit().wait();
    ASSERT_FALSE(receipt);
    expect_mismatch(fixture, receipt.error(),
                    {.on_last = "float32, a global array of 12 x 8",
                     .on_others = "float32, a global array of 8 x 12"});
    std::ignore = dataset->close();
  });
}

}  // namespace
}  // namespace forebay
