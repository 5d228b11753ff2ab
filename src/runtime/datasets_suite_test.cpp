// SPDX-License-Identifier: Apache-2.0
// Datasets written by several ranks in all ways that there are, and read back without any.
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
#include "format/catalog.hpp"
#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

constexpr std::uint64_t kParts = 23;

template <class F>
void on_each_yard(F test) {
  comm::MakeTest::on_all_ranks([&](const Communicator& communicator) {
    Yard yard(communicator);
    test(yard);
  });
}

constexpr std::array kStrategies{Strategy::kAuto,           Strategy::kSerial,
                                 Strategy::kFilePerProcess, Strategy::kBaton,
                                 Strategy::kCollective,     Strategy::kReducedBlocking,
                                 Strategy::kBrigade,        Strategy::kGather};

/// Writes three steps by the plan and reads them back.
void write_and_read(Yard& yard, const std::string& path, const WritePlan& plan) {
  SCOPED_TRACE(std::string(name_of(plan.strategy)) + ", writers " + std::to_string(plan.writers) +
               ", files " + std::to_string(plan.files));
  {
    auto dataset = yard.runtime.dataset(path, for_test(plan));
    ASSERT_TRUE(dataset) << dataset.error().message();
    if (plan.checksum_by != ChecksumBy::kAuto) {
      EXPECT_EQ(dataset->plan().checksum_by, plan.checksum_by);
    }
    for (const std::uint64_t number : {3U, 4U, 10U}) {
      const auto receipt = write_parts(yard, *dataset, number, kParts);
      ASSERT_TRUE(receipt) << receipt.error().message();
      EXPECT_EQ(receipt->step, number);
      EXPECT_EQ(receipt->level, SafetyLevel::kDurable);
    }
    EXPECT_TRUE(dataset->close());
  }
  yard.meet();
  if (yard.is_first()) {
    EXPECT_TRUE(has_steps(path, {3, 4, 10}, kParts));
    EXPECT_TRUE(is_written_by(path, plan));
  }
  yard.meet();
}

TEST_P(DatasetSuite, every_strategy_writes_what_any_reader_reads) {
  on_each_yard([](Yard& yard) {
    for (const Strategy strategy : kStrategies)
      write_and_read(yard, yard.folder / std::string(name_of(strategy)), {.strategy = strategy});
  });
}

TEST_P(DatasetSuite, writers_and_files_are_free) {
  on_each_yard([](Yard& yard) {
    for (std::uint32_t writers = 1; writers <= yard.runtime.rank_count(); writers += 2)
      for (std::uint32_t files = 1; files <= writers; files += 2) {
        const std::string name = "w" + std::to_string(writers) + "f" + std::to_string(files);
        write_and_read(
            yard, yard.folder / name,
            {.strategy = Strategy::kReducedBlocking, .writers = writers, .files = files});
      }
  });
}

TEST_P(DatasetSuite, steps_are_written_while_the_next_ones_are_put) {
  on_each_yard([](Yard& yard) {
    for (const Strategy strategy : kStrategies) {
      SCOPED_TRACE(name_of(strategy));
      const std::string path = yard.folder / std::string(name_of(strategy));
      WritePlan plan{.strategy = strategy, .unit_bytes = 1_MiB};
      plan.memory_bytes = 4_MiB;
      plan.steps_in_flight = 3;
      plan.steps_per_group = 2;
      auto dataset = yard.runtime.dataset(path, plan);
      ASSERT_TRUE(dataset) << dataset.error().message();
      std::vector<Future<Receipt>> receipts;
      std::vector<std::uint64_t> steps(7);
      std::iota(steps.begin(), steps.end(), 1U);
      for (const std::uint64_t number : steps)
        receipts.push_back(begin_to_write_parts(yard, *dataset, number, kParts));
      for (Future<Receipt>& receipt : receipts) {
        const auto got = receipt.wait();
        EXPECT_TRUE(got) << got.error().message();
      }
      EXPECT_TRUE(dataset->close());
      EXPECT_LE(dataset->report().staging_bytes_max, dataset->plan().memory_bytes);
      yard.meet();
      if (yard.is_first()) {
        EXPECT_TRUE(has_steps(path, steps, kParts));
      }
      yard.meet();
    }
  });
}

TEST_P(DatasetSuite, a_block_that_is_refused_fails_its_step) {
  on_each_yard([](Yard& yard) {
    auto dataset = yard.runtime.dataset(yard.path(), for_test({}));
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

TEST_P(DatasetSuite, a_block_whose_start_has_other_dimensions_is_refused) {
  on_each_yard([](Yard& yard) {
    auto dataset = yard.runtime.dataset(yard.path(), for_test({}));
    ASSERT_TRUE(dataset) << dataset.error().message();
    auto step = dataset->begin_step(1);
    ASSERT_TRUE(step) << step.error().message();
    const std::vector<double> values(4, 1.0);
    // As many numbers in all as there must be.
    const Subarray block{.shape = {4, 4, 4}, .start = {0, 0}, .count = {1, 1, 2, 2}};
    const Status put = step->put("values", block, std::span(values));
    ASSERT_EQ(error_class(put), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(mentions(put.error(), "have 3, 2 and 4 dimensions")) << put.error().message();
    EXPECT_EQ(error_class(step->commit().wait()), ErrorClass::kInvalidArgument);
    std::ignore = dataset->close();
  });
}

TEST_P(DatasetSuite, several_at_once_do_not_wait_for_each_other) {
  on_each_yard([](Yard& yard) {
    for (const Strategy strategy : kStrategies) {
      SCOPED_TRACE(name_of(strategy));
      const std::string folder = yard.folder / std::string(name_of(strategy));
      auto first = yard.runtime.dataset(folder + "-a", for_test({.strategy = strategy}));
      auto second = yard.runtime.dataset(folder + "-b", for_test({.strategy = strategy}));
      ASSERT_TRUE(first && second);
      auto held = first->begin_step(1);
      ASSERT_TRUE(held) << held.error().message();
      EXPECT_TRUE(write_parts(yard, *second, 1, kParts));
      EXPECT_TRUE(held->commit().wait());
      EXPECT_TRUE(first->close());
      EXPECT_TRUE(second->close());
    }
  });
}

TEST_P(DatasetSuite, who_goes_on_plans_for_steps_as_large_as_the_last_one) {
  on_each_yard([](Yard& yard) {
    {
      auto dataset = yard.runtime.dataset(yard.path(), for_test({}));
      ASSERT_TRUE(dataset) << dataset.error().message();
      ASSERT_TRUE(write_parts(yard, *dataset, 1, kParts));
      EXPECT_TRUE(dataset->close());
    }
    yard.meet();
    auto dataset = yard.runtime.dataset(yard.path());
    ASSERT_TRUE(dataset) << dataset.error().message();
    EXPECT_LT(dataset->plan().memory_bytes, 16_MiB);
    EXPECT_TRUE(write_parts(yard, *dataset, 2, kParts));
    EXPECT_TRUE(dataset->close());
    yard.meet();
  });
}

std::uint64_t ranks_of_node(const comm::Communicator& ranks) {
  return ranks.nodes().ranks_of(ranks.nodes().node_of(ranks.rank())).size();
}

TEST_P(DatasetSuite, staging_of_a_new_dataset_is_a_share_of_the_free_memory) {
  on_each_yard([](Yard& yard) {
    yard.meet();
    const auto share = [&yard] {
      const auto free = free_memory_bytes().value_or(0) / 4 / ranks_of_node(yard.ranks);
      return std::min<std::uint64_t>(free, 1_GiB);
    };
    const std::uint64_t before = share();
    auto dataset = yard.runtime.dataset(yard.path());
    ASSERT_TRUE(dataset) << dataset.error().message();
    const std::uint64_t after = share();
    // Free memory changes meanwhile, as other programs run.
    EXPECT_GE(dataset->plan().memory_bytes, std::min(before, after) / 4 * 3);
    EXPECT_LE(dataset->plan().memory_bytes, std::max({before, after, 16_MiB}) / 3 * 4);
    EXPECT_TRUE(dataset->close());
    yard.meet();
  });
}

TEST_P(DatasetSuite, ranks_of_a_node_share_the_cache_of_freed_buffers) {
  comm::MakeTest::on_all_ranks([](const Communicator& communicator) {
    // Each rank may keep as much as the others: here one buffer, and there none.
    for (const bool is_kept : {true, false}) {
      const std::uint64_t ranks = ranks_of_node(*communicator);
      const std::uint64_t bytes = is_kept ? 4_MiB * ranks : 4_MiB * ranks - 4096;
      Runtime runtime(Ranks(communicator), tested({.buffer_cache_bytes = bytes}));
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

// Receipts were durable, and the bytes of such a rank were nowhere that anybody looked.
TEST_P(DatasetSuite, ranks_that_name_other_folders_are_told_so) {
  on_each_yard([](Yard& yard) {
    if (yard.runtime.rank_count() == 1) return;
    const bool is_last = yard.runtime.rank() == yard.runtime.rank_count() - 1;
    const std::string path = yard.folder / (is_last ? "other.fb" : "run.fb");
    if (is_last) std::filesystem::create_directory(path);
    const auto dataset =
        yard.runtime.dataset(path, for_test({.strategy = Strategy::kFilePerProcess}));
    ASSERT_EQ(error_class(dataset), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(mentions(dataset.error(), "other.fb")) << dataset.error().message();
  });
}

TEST_P(DatasetSuite, closing_waits_for_what_is_committed_alone) {
  on_each_yard([](Yard& yard) {
    auto dataset = yard.runtime.dataset(yard.path(), for_test({}));
    ASSERT_TRUE(dataset) << dataset.error().message();
    ASSERT_TRUE(write_parts(yard, *dataset, 1, kParts));
    auto step = dataset->begin_step(2);
    ASSERT_TRUE(step) << step.error().message();
    EXPECT_TRUE(dataset->close());
    const std::vector<float> values(12);
    EXPECT_TRUE(step->put("velocity", Part{yard.runtime.rank()}, std::span(values)));
    const auto receipt = step->commit().wait();
    EXPECT_TRUE(receipt) << receipt.error().message();
    yard.meet();
  });
}

TEST_P(DatasetSuite, a_runtime_that_ends_waits_for_no_step_that_is_not_committed) {
  comm::MakeTest::on_all_ranks([](const Communicator& communicator) {
    const comm::SharedFolder folder(communicator);
    std::optional<Step> step;
    WritePlan plan = for_test({});
    plan.deadline = std::chrono::hours(1);  // longer than this test may take
    {
      Runtime runtime(Ranks(communicator), tested({}));
      auto dataset = runtime.dataset(folder / "run.fb", plan);
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
  on_each_yard([](Yard& yard) {
    for (const Strategy strategy : kStrategies) {
      const WritePlan plan{.strategy = strategy, .unit_bytes = 1_MiB, .memory_bytes = 2_MiB};
      write_and_read(yard, yard.folder / std::string(name_of(strategy)), plan);
    }
  });
}

TEST_P(DatasetSuite, compressed_pieces_come_back) {
  on_each_yard([](Yard& yard) {
    for (const Strategy strategy : {Strategy::kFilePerProcess, Strategy::kSerial}) {
      const WritePlan plan{.strategy = strategy, .unit_bytes = 1_MiB, .codec = Codec::kZstd};
      write_and_read(yard, yard.folder / std::string(name_of(strategy)), plan);
    }
  });
}

TEST_P(DatasetSuite, agents_or_copies_work_out_checksums) {
  on_each_yard([](Yard& yard) {
    for (const ChecksumBy by : {ChecksumBy::kAgent, ChecksumBy::kCopy}) {
      const WritePlan plan{.strategy = Strategy::kFilePerProcess, .checksum_by = by};
      const std::string path = yard.folder / std::string(name_of(by));
      write_and_read(yard, path, plan);
    }
  });
}

TEST_P(DatasetSuite, steps_share_files_where_the_plan_says_so) {
  on_each_yard([](Yard& yard) {
    const WritePlan plan{.strategy = Strategy::kReducedBlocking, .steps_per_group = 2};
    write_and_read(yard, yard.path(), plan);
    const auto catalog = format::Catalog::open(yard.path());
    ASSERT_TRUE(catalog) << catalog.error().message();
    const auto steps = (*catalog)->steps();
    ASSERT_EQ(steps.size(), 3U);
    EXPECT_EQ(steps[0].group, steps[1].group);
    EXPECT_NE(steps[1].group, steps[2].group);
  });
}

TEST_P(DatasetSuite, adopted_buffers_are_written_from_where_they_are) {
  on_each_yard([](Yard& yard) {
    for (const Strategy strategy : kStrategies) {
      const std::string path = yard.folder / std::string(name_of(strategy));
      auto dataset = yard.runtime.dataset(path, for_test({.strategy = strategy}));
      ASSERT_TRUE(dataset) << dataset.error().message();
      auto step = dataset->begin_step(1);
      ASSERT_TRUE(step) << step.error().message();
      const auto mine = parts_of(yard.runtime.rank(), yard.runtime.rank_count(), kParts);
      for (const std::uint64_t part : mine) {
        const std::vector<double> values = values_of_part(1, part);
        auto buffer = yard.runtime.allocate(values.size() * sizeof(double));
        ASSERT_TRUE(buffer) << buffer.error().message();
        std::ranges::copy(values, buffer->as<double>().begin());
        const Status put = step->put<double>("values", Part{part}, adopt(std::move(*buffer)));
        ASSERT_TRUE(put) << put.error().message();
      }
      const auto receipt = step->commit().wait();
      ASSERT_TRUE(receipt) << receipt.error().message();
      EXPECT_EQ(receipt->copied_bytes, 0U);
      yard.meet();
      if (yard.is_first()) {
        EXPECT_TRUE(has_steps(path, {1}, kParts));
      }
      yard.meet();
    }
  });
}

TEST_P(DatasetSuite, a_report_has_the_memory_for_what_others_send) {
  on_each_yard([](Yard& yard) {
    for (const Strategy strategy : {Strategy::kBrigade, Strategy::kGather}) {
      const std::string path = yard.folder / std::string(name_of(strategy));
      auto dataset = yard.runtime.dataset(path, for_test({.strategy = strategy, .writers = 1}));
      ASSERT_TRUE(dataset) << dataset.error().message();
      auto step = dataset->begin_step(1);
      ASSERT_TRUE(step) << step.error().message();
      const std::vector<double> values(1000, 1.0);
      if (!yard.is_first()) {
        EXPECT_TRUE(step->put("values", Part{yard.runtime.rank()}, std::span(values)));
      }
      ASSERT_TRUE(step->commit().wait());
      const bool has_some = !yard.is_first() || yard.runtime.rank_count() > 1;
      EXPECT_EQ(dataset->report().staging_bytes_max > 0, has_some);
    }
  });
}

TEST_P(DatasetSuite, what_was_there_is_appended_to_and_numbers_go_on_rising) {
  on_each_yard([](Yard& yard) {
    for (const std::uint64_t number : {1U, 2U}) {
      auto dataset = yard.runtime.dataset(yard.path(), for_test({}));
      ASSERT_TRUE(dataset) << dataset.error().message();
      if (number == 2) {
        EXPECT_EQ(dataset->newest_step(), 1U);
        EXPECT_EQ(error_class(dataset->begin_step(1)), ErrorClass::kInvalidArgument);
      }
      EXPECT_TRUE(write_parts(yard, *dataset, number, kParts));
      EXPECT_TRUE(dataset->close());
      // The lease goes with the Runtime's end, or when the last one has left.
      yard.meet();
    }
    yard.meet();
    if (yard.is_first()) {
      EXPECT_TRUE(has_steps(yard.path(), {1, 2}, kParts));
    }
    yard.meet();
  });
}

TEST_P(DatasetSuite, only_the_newest_steps_are_kept) {
  on_each_yard([](Yard& yard) {
    auto dataset = yard.runtime.dataset(yard.path(), for_test({.keep = 2}));
    ASSERT_TRUE(dataset) << dataset.error().message();
    for (std::uint64_t number = 1; number <= 6; ++number) {
      const auto receipt = write_parts(yard, *dataset, number, kParts);
      ASSERT_TRUE(receipt) << receipt.error().message();
    }
    EXPECT_TRUE(dataset->close());
    yard.meet();
    // Pruning comes after the receipt: nobody waits for it.
    if (yard.is_first()) {
      EXPECT_TRUE(read::eventually([&] { return bool(has_steps(yard.path(), {5, 6}, kParts)); }));
    }
    yard.meet();
  });
}

TEST_P(DatasetSuite, a_step_that_one_rank_gives_up_is_skipped_and_the_next_goes_on) {
  on_each_yard([](Yard& yard) {
    write_two_of_three(yard, kParts);
    yard.meet();
    if (yard.is_first()) {
      EXPECT_TRUE(has_steps(yard.path(), {1, 3}, kParts));
    }
    yard.meet();
  });
}

TEST_P(DatasetSuite, a_step_that_is_given_up_while_agents_hash_it_is_over) {
  on_each_yard([](Yard& yard) {
    const WritePlan plan{.steps_in_flight = 1, .checksum_by = ChecksumBy::kAgent};
    auto dataset = yard.runtime.dataset(yard.path(), plan);
    ASSERT_TRUE(dataset) << dataset.error().message();
    const std::vector<double> large(1'000'000, 1.5);
    for (std::uint64_t number = 1; number <= 3; ++number) {
      auto step = dataset->begin_step(number);
      ASSERT_TRUE(step) << step.error().message();
      EXPECT_TRUE(step->put("large", Part{yard.runtime.rank()}, std::span(large)));
      step->abandon();
    }
    EXPECT_TRUE(dataset->close());
    EXPECT_EQ(dataset->report().steps_failed, 3U);
  });
}

// The Error of an abandoned step hid those of a full disk behind it.
TEST_P(DatasetSuite, close_names_the_first_failure_and_how_many_after_an_abandoned_step) {
  on_each_yard([](Yard& yard) {
    auto dataset = yard.runtime.dataset(yard.path());
    ASSERT_TRUE(dataset) << dataset.error().message();
    const std::vector<double> values(10, 1.5);
    for (std::uint64_t number = 1; number <= 3; ++number) {
      auto step = dataset->begin_step(number);
      ASSERT_TRUE(step) << step.error().message();
      const Part part{yard.runtime.rank()};
      EXPECT_TRUE(step->put("field", part, std::span(values)));
      if (number == 1) continue;  // abandoned
      EXPECT_FALSE(step->put("field", part, std::span(values).first(3), Shape{7}));
      EXPECT_FALSE(step->commit().wait());
    }
    const Status closed = dataset->close();
    ASSERT_EQ(error_class(closed), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(mentions(closed.error(), "the first of 2 steps that failed"))
        << closed.error().message();
  });
}

/// What a field is on the last rank and on all others, as Errors call it.
struct Contradiction {
  std::string on_last;
  std::string on_others;
};

/// The rank of the Error is that of whom was heard later, which is the last one or is told by it.
void expect_told(const Yard& yard, const Error& error, const Contradiction& what) {
  EXPECT_EQ(error.kind(), ErrorClass::kInvalidArgument) << error.message();
  const std::uint32_t last = yard.runtime.rank_count() - 1;
  ASSERT_LE(error.rank().value_or(UINT32_MAX), last) << error.message();
  const bool is_last = error.rank() == last;
  const std::string here = is_last ? what.on_last : what.on_others;
  const std::string there = is_last ? what.on_others : what.on_last;
  EXPECT_TRUE(mentions(error, "field 'velocity' is " + here + " here, and " + there + " on rank "))
      << error.message();
  EXPECT_EQ(mentions(error, " on rank " + std::to_string(last)), !is_last) << error.message();
}

TEST_P(DatasetSuite, ranks_that_announce_different_shapes_are_told_which) {
  on_each_yard([](Yard& yard) {
    if (yard.runtime.rank_count() == 1) return;
    auto dataset = yard.runtime.dataset(yard.path());
    ASSERT_TRUE(dataset) << dataset.error().message();
    auto step = dataset->begin_step(1);
    ASSERT_TRUE(step) << step.error().message();
    const std::vector<float> values(12);
    const bool is_last = yard.runtime.rank() == yard.runtime.rank_count() - 1;
    const Shape shape = is_last ? Shape{3, 4} : Shape{12};
    EXPECT_TRUE(step->put("velocity", Part{yard.runtime.rank()}, std::span(values), shape));
    const auto receipt = step->commit().wait();
    ASSERT_FALSE(receipt);
    expect_told(yard, receipt.error(),
                {.on_last = "float32, parts of 2 dimensions",
                 .on_others = "float32, parts of 1 dimensions"});
    std::ignore = dataset->close();
  });
}

/// A step with one part or block that the last two ranks put, each into its own file; then one
/// without.
TEST_P(DatasetSuite, a_block_put_by_two_ranks_into_two_files_fails_the_step_and_names_both) {
  on_each_yard([](Yard& yard) {
    const std::uint32_t ranks = yard.runtime.rank_count();
    if (ranks == 1) return;
    auto dataset =
        yard.runtime.dataset(yard.path(), for_test({.strategy = Strategy::kFilePerProcess}));
    ASSERT_TRUE(dataset) << dataset.error().message();
    EXPECT_TRUE(write_parts(yard, *dataset, 1, kParts));
    const std::vector<float> values(4);
    const std::uint64_t block = std::min(yard.runtime.rank(), ranks - 2);
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
        EXPECT_TRUE(mentions(receipt.error(), text)) << receipt.error().message();
    }
    EXPECT_TRUE(write_parts(yard, *dataset, 4, kParts));
    std::ignore = dataset->close();
    yard.meet();
    if (yard.is_first()) {
      EXPECT_TRUE(has_steps(yard.path(), {1, 4}, kParts));
    }
  });
}

TEST_P(DatasetSuite, ranks_that_give_a_global_array_different_shapes_are_told_which) {
  on_each_yard([](Yard& yard) {
    if (yard.runtime.rank_count() == 1) return;
    auto dataset = yard.runtime.dataset(yard.path());
    ASSERT_TRUE(dataset) << dataset.error().message();
    auto step = dataset->begin_step(1);
    ASSERT_TRUE(step) << step.error().message();
    // As many elements in all, and no two blocks in the same place.
    const std::uint64_t rank = yard.runtime.rank();
    const bool is_last = rank == yard.runtime.rank_count() - 1;
    const Shape shape = is_last ? Shape{12, 8} : Shape{8, 12};
    const std::vector<float> values(4);
    const Subarray block{.shape = shape, .start = {rank, 0}, .count = {1, 4}};
    EXPECT_TRUE(step->put("velocity", block, std::span(values)));
    const auto receipt = step->commit().wait();
    ASSERT_FALSE(receipt);
    expect_told(yard, receipt.error(),
                {.on_last = "float32, a global array of 12 x 8",
                 .on_others = "float32, a global array of 8 x 12"});
    std::ignore = dataset->close();
  });
}

}  // namespace
}  // namespace forebay
