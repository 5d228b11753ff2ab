// SPDX-License-Identifier: Apache-2.0
// Datasets that I/O ranks write for compute ranks: the same for ranks as threads and for ranks of
// an MPI job.
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "comm/ranks_access.hpp"
#include "runtime/dataset_testing.hpp"
#include "runtime/plan_cycle_testing.hpp"
#include "runtime/runtime_access.hpp"

namespace forebay {
namespace {

constexpr std::uint64_t kDedicatedParts = 23;
const RuntimeOptions kDedicated{.placement = Placement::kDedicated};

/// Over the compute ranks: I/O ranks take part in no collective call while they serve.
void barrier(const Runtime& runtime) {
  const Ranks compute = runtime.compute_ranks();
  ASSERT_TRUE(comm::ranks_communicator(compute));
  EXPECT_TRUE((*comm::ranks_communicator(compute))->barrier());
}

bool has_dedicated(const DatasetFixture& fixture) {
  return fixture.runtime.rank_count() < fixture.ranks.size();
}

Placement expected_placement(const DatasetFixture& fixture) {
  return has_dedicated(fixture) ? Placement::kDedicated : Placement::kInRank;
}

/// Calls `compute` on the compute ranks; the others serve.
template <class F>
void with_dedicated_dataset_fixture(F compute) {
  comm::CommunicatorTest::run_on_all_ranks([&](const Communicator& communicator) {
    DatasetFixture fixture(communicator, kDedicated);
    if (fixture.runtime.role() == Role::kCompute) return compute(fixture);
    const Status served = fixture.runtime.serve();
    EXPECT_TRUE(served) << served.error().message();
  });
}

/// Writes steps, reads them back, and expects that I/O ranks have written all bytes.
void write_dedicated_and_read(DatasetFixture& fixture,
                              const std::string& path,
                              const WritePlan& plan) {
  SCOPED_TRACE(std::string(name_of(plan.strategy)) + ", writers " + std::to_string(plan.writers) +
               ", files " + std::to_string(plan.files));
  {
    auto dataset = fixture.runtime.create_dataset(path, {.plan = with_small_memory(plan)});
    ASSERT_TRUE(dataset) << dataset.error().message();
    EXPECT_EQ(dataset->plan().tuning.placement, expected_placement(fixture))
        << dataset->plan().reason;
    for (const std::uint64_t number : {3U, 4U, 10U}) {
      const auto receipt = write_parts(fixture, *dataset, number, kDedicatedParts);
      ASSERT_TRUE(receipt) << receipt.error().message();
    }
    EXPECT_TRUE(dataset->close());
    if (has_dedicated(fixture)) {
      EXPECT_EQ(dataset->report().written_bytes, 0U);
    }
  }
  barrier(fixture.runtime);
  if (fixture.is_first()) {
    EXPECT_TRUE(has_steps(path, {3, 4, 10}, kDedicatedParts));
    EXPECT_TRUE(matches_plan(path, plan));
  }
  barrier(fixture.runtime);
}

constexpr std::array kDedicatedStrategies{Strategy::kAuto, Strategy::kReducedBlocking,
                                          Strategy::kBrigade, Strategy::kGather};

TEST_P(DedicatedDatasets, every_strategy_with_exchange_is_written_by_io_ranks) {
  with_dedicated_dataset_fixture([](DatasetFixture& fixture) {
    for (const Strategy strategy : kDedicatedStrategies) {
      const std::string path = fixture.directory / std::string(name_of(strategy));
      if (strategy != Strategy::kAuto || has_dedicated(fixture))
        write_dedicated_and_read(fixture, path, {.strategy = strategy});
    }
    WritePlan baton{.strategy = Strategy::kBaton, .files = 1};
    baton.tuning.placement = expected_placement(fixture);
    write_dedicated_and_read(fixture, fixture.directory / "baton", baton);
  });
}

TEST_P(DedicatedDatasets, bytes_arrive_by_messages_and_by_shared_memory) {
  with_dedicated_dataset_fixture([](DatasetFixture& fixture) {
    for (const Exchange exchange : {Exchange::kMessage, Exchange::kSharedMemory}) {
      WritePlan plan{.strategy = Strategy::kReducedBlocking, .tuning = {.unit_bytes = 64_KiB}};
      plan.tuning.exchange = exchange;
      plan.memory_bytes = 1_MiB;  // much less than a step
      write_dedicated_and_read(fixture, fixture.directory / std::string(name_of(exchange)), plan);
    }
  });
}

TEST_P(DedicatedDatasets, writers_and_files_are_as_planned) {
  with_dedicated_dataset_fixture([](DatasetFixture& fixture) {
    const std::uint32_t others = fixture.ranks.size() - fixture.runtime.rank_count();
    for (std::uint32_t writers = 1; writers <= others; ++writers)
      for (std::uint32_t files = 1; files <= writers; ++files) {
        const std::string name = "w" + std::to_string(writers) + "f" + std::to_string(files);
        write_dedicated_and_read(
            fixture, fixture.directory / name,
            {.strategy = Strategy::kReducedBlocking, .writers = writers, .files = files});
      }
  });
}

TEST_P(DedicatedDatasets, strategies_without_exchange_reject_dedicated_placement) {
  with_dedicated_dataset_fixture([](DatasetFixture& fixture) {
    for (const Strategy strategy :
         {Strategy::kSerial, Strategy::kFilePerProcess, Strategy::kCollective}) {
      const std::string path = fixture.directory / std::string(name_of(strategy));
      WritePlan plan{.strategy = strategy};
      plan.tuning.placement = Placement::kDedicated;
      const auto refused = fixture.runtime.create_dataset(path, {.plan = plan});
      ASSERT_EQ(error_class(refused), ErrorClass::kInvalidArgument);
      EXPECT_TRUE(message_contains(refused.error(), "placement")) << refused.error().message();
      // Collective calls still match, and compute ranks can write it themselves.
      auto dataset =
          fixture.runtime.create_dataset(path, {.plan = with_small_memory({.strategy = strategy})});
      ASSERT_TRUE(dataset) << dataset.error().message();
      EXPECT_EQ(dataset->plan().tuning.placement, Placement::kInRank);
      EXPECT_TRUE(write_parts(fixture, *dataset, 1, kDedicatedParts));
      EXPECT_TRUE(dataset->close());
    }
  });
}

TEST_P(DedicatedDatasets, are_read_back_with_and_without_io_ranks) {
  run_on_all_ranks([](const Communicator& communicator) {
    const comm::SharedDirectory directory(communicator);
    const std::string path = directory / "run.fb";
    const auto reads = [&path](Runtime& runtime) {
      const auto stored = runtime.open_dataset(path);
      ASSERT_TRUE(stored) << stored.error().message();
      for (std::uint64_t part = 0; part < kDedicatedParts; ++part) {
        std::vector<double> values(elements_of_part(part));
        const auto got =
            stored->open_step(7).value().read("values", Part{part}, std::span(values)).wait();
        ASSERT_TRUE(got) << got.error().message();
        EXPECT_EQ(values, values_of_part(7, part));
      }
    };
    {
      DatasetFixture fixture(communicator, kDedicated);
      if (fixture.runtime.role() == Role::kCompute) {
        auto dataset = fixture.runtime.create_dataset(path);
        ASSERT_TRUE(dataset) << dataset.error().message();
        EXPECT_TRUE(write_parts(fixture, *dataset, 7, kDedicatedParts));
        EXPECT_TRUE(dataset->close());
        reads(fixture.runtime);
      } else {
        EXPECT_TRUE(fixture.runtime.serve());
      }
    }
    DatasetFixture plain(communicator);
    reads(plain.runtime);
  });
}

TEST_P(DedicatedDatasets, reopening_many_times_works) {
  with_dedicated_dataset_fixture([](DatasetFixture& fixture) {
    constexpr std::uint64_t kTimes = 30;
    for (std::uint64_t i = 1; i <= kTimes; ++i) {
      auto dataset = fixture.runtime.create_dataset(
          fixture.path(),
          {.existing = ExistingDataset::kAppend, .plan = with_small_memory({.retained_steps = 2})});
      ASSERT_TRUE(dataset) << i << ": " << dataset.error().message();
      auto step = dataset->begin_step(i);
      ASSERT_TRUE(step) << step.error().message();
      const std::vector<double> value{static_cast<double>(i)};
      EXPECT_TRUE(step->put("value", Part{fixture.runtime.rank()}, std::span(value)));
      EXPECT_TRUE(step->commit().wait());
      EXPECT_TRUE(dataset->close());
    }
    const auto stored = fixture.runtime.open_dataset(fixture.path());
    ASSERT_TRUE(stored) << stored.error().message();
    EXPECT_EQ(stored->newest_step(), kTimes);
  });
}

TEST_P(DedicatedDatasets, open_datasets_do_not_wait_for_each_other) {
  with_dedicated_dataset_fixture([](DatasetFixture& fixture) {
    std::vector<DatasetWriter> open;
    for (const std::string name : {"a", "b", "c"}) {
      auto dataset = fixture.runtime.create_dataset(fixture.directory / name);
      ASSERT_TRUE(dataset) << dataset.error().message();
      open.push_back(std::move(*dataset));
    }
    auto held = open[0].begin_step(1);
    ASSERT_TRUE(held) << held.error().message();
    for (std::size_t i = 1; i < open.size(); ++i)
      EXPECT_TRUE(write_parts(fixture, open[i], 1, kDedicatedParts));
    // An open dataset cannot be opened again, and is not affected by the attempt.
    EXPECT_EQ(error_class(fixture.runtime.create_dataset(fixture.directory / "a",
                                                         {.existing = ExistingDataset::kAppend})),
              ErrorClass::kPermission);
    EXPECT_TRUE(held->commit().wait());
    for (const DatasetWriter& dataset : open)
      EXPECT_TRUE(dataset.close());
  });
}

TEST_P(DedicatedDatasets, are_complete_if_no_rank_waits_for_the_receipt) {
  run_on_all_ranks([](const Communicator& communicator) {
    const comm::SharedDirectory directory(communicator);
    std::optional<DatasetFixture> fixture(std::in_place, communicator, kDedicated);
    const std::string path = directory / "run.fb";
    if (fixture->runtime.role() == Role::kIo) {
      EXPECT_TRUE(fixture->runtime.serve());
    } else {
      auto dataset = fixture->runtime.create_dataset(path);
      ASSERT_TRUE(dataset) << dataset.error().message();
      auto step = dataset->begin_step(1);
      ASSERT_TRUE(step) << step.error().message();
      const auto mine =
          parts_of(fixture->runtime.rank(), fixture->runtime.rank_count(), kDedicatedParts);
      for (const std::uint64_t part : mine) {
        const std::vector<double> values = values_of_part(1, part);
        EXPECT_TRUE(step->put("values", Part{part}, std::span(values)));
      }
      std::ignore = step->commit();
    }
    fixture.reset();
    EXPECT_TRUE(has_steps(path, {1}, kDedicatedParts));
    EXPECT_TRUE(communicator->barrier());
  });
}

TEST_P(DedicatedDatasets, aborted_step_is_skipped_and_later_ones_continue) {
  with_dedicated_dataset_fixture([](DatasetFixture& fixture) {
    write_with_aborted_step(fixture, kDedicatedParts);
    barrier(fixture.runtime);
    if (fixture.is_first()) {
      EXPECT_TRUE(has_steps(fixture.path(), {1, 3}, kDedicatedParts));
    }
  });
}

TEST_P(DedicatedDatasets, writers_change_between_io_ranks_and_compute_ranks) {
  with_dedicated_dataset_fixture([](DatasetFixture& fixture) {
    constexpr std::uint64_t kSteps = 20;
    WritePlan plan{.strategy = Strategy::kReducedBlocking, .steps_in_flight = 2};
    plan.memory_bytes = 16_MiB;
    plan.retained_steps = 15;
    plan.step_timeout = std::chrono::minutes(1);
    plan.tuning = {.unit_bytes = 1_MiB, .steps_per_group = 1};
    plan.tuning.placement = expected_placement(fixture);
    auto cycle = plans_to_cycle(plan, fixture.runtime.rank_count());
    for (const Exchange exchange : {Exchange::kMessage, Exchange::kSharedMemory}) {
      WritePlan& dedicated = *cycle.insert(cycle.begin() + 2, plan);
      dedicated.writers = dedicated.files = exchange == Exchange::kMessage ? 1 : 0;
      if (has_dedicated(fixture)) dedicated.tuning.exchange = exchange;
    }
    std::shared_ptr<write::PlanChooser> chooser;
    if (fixture.is_first()) chooser = std::make_unique<CyclingChooser>(cycle, 2);
    auto dataset = RuntimeAccess::create_dataset(fixture.runtime, fixture.path(), {.plan = plan},
                                                 std::move(chooser));
    ASSERT_TRUE(dataset) << dataset.error().message();
    EXPECT_EQ(dataset->plan().tuning.placement, expected_placement(fixture));
    std::vector<Future<Receipt>> receipts;
    std::vector<std::uint64_t> retained;
    for (std::uint64_t number = 1; number <= kSteps; ++number) {
      receipts.push_back(start_writing_parts(fixture, *dataset, number, kDedicatedParts));
      if (number > kSteps - plan.retained_steps) retained.push_back(number);
    }
    std::set<Placement> placements;
    for (Future<Receipt>& one : receipts) {
      const auto receipt = one.wait();
      ASSERT_TRUE(receipt) << receipt.error().message();
      placements.insert(*receipt->plan->tuning.placement);
    }
    EXPECT_EQ(placements.size(), has_dedicated(fixture) ? 2U : 1U);
    EXPECT_TRUE(dataset->close());
    barrier(fixture.runtime);
    if (fixture.is_first()) {
      EXPECT_TRUE(read::wait_until(
          [&] { return bool(has_steps(fixture.path(), retained, kDedicatedParts)); }));
    }
    barrier(fixture.runtime);
  });
}

TEST_P(DedicatedDatasets, opening_waits_for_a_late_serve) {
  run_on_all_ranks([](const Communicator& communicator) {
    DatasetFixture fixture(communicator, kDedicated);
    if (fixture.runtime.role() == Role::kIo) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      EXPECT_TRUE(fixture.runtime.serve());
      return;
    }
    write_dedicated_and_read(fixture, fixture.path(), {.strategy = Strategy::kReducedBlocking});
  });
}

TEST_P(DedicatedDatasets, opening_fails_if_the_writer_does_not_serve) {
  run_on_all_ranks([](const Communicator& communicator) {
    DatasetFixture fixture(communicator, kDedicated);
    if (fixture.runtime.role() == Role::kIo) {
      fixture.barrier();  // too late for the first two attempts
      EXPECT_TRUE(fixture.runtime.serve());
      return;
    }
    WritePlan short_deadline{.strategy = Strategy::kReducedBlocking};
    short_deadline.step_timeout = std::chrono::milliseconds(200);
    for (int i = 0; i < 2 && has_dedicated(fixture); ++i) {
      const auto dataset = fixture.runtime.create_dataset(fixture.path(), {.plan = short_deadline});
      ASSERT_EQ(error_class(dataset), ErrorClass::kLimit);
      EXPECT_EQ(dataset.error().rank(), fixture.runtime.rank_count());
      EXPECT_TRUE(message_contains(dataset.error(), "serve()")) << dataset.error().message();
    }
    fixture.barrier();
    write_dedicated_and_read(fixture, fixture.path(), {.strategy = Strategy::kReducedBlocking});
  });
}

TEST_P(DedicatedDatasets, compute_ranks_can_write_after_io_ranks_have_ended) {
  run_on_all_ranks([](const Communicator& communicator) {
    const comm::SharedDirectory directory(communicator);
    std::optional<DatasetFixture> fixture(std::in_place, communicator, kDedicated);
    if (fixture->runtime.role() == Role::kIo) {
      return fixture.reset();  // without serve()
    }
    const std::string path = directory / "run.fb";
    if (has_dedicated(*fixture)) {
      const auto dataset = fixture->runtime.create_dataset(path);
      ASSERT_EQ(error_class(dataset), ErrorClass::kClosed);
      EXPECT_GE(dataset.error().rank(), fixture->runtime.rank_count());
      EXPECT_EQ(dataset.error().path(), path);
    }
    WritePlan plan;
    plan.tuning.placement = Placement::kInRank;
    auto dataset =
        fixture->runtime.create_dataset(path, {.existing = ExistingDataset::kAppend, .plan = plan});
    ASSERT_TRUE(dataset) << dataset.error().message();
    EXPECT_TRUE(write_parts(*fixture, *dataset, 1, kDedicatedParts));
    EXPECT_TRUE(dataset->close());
  });
}

}  // namespace
}  // namespace forebay
