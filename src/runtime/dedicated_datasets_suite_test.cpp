// SPDX-License-Identifier: Apache-2.0
// Datasets that ranks given to I/O write for those that compute: the same for threads that play
// ranks and for those of an MPI job.
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

constexpr std::uint64_t kPartsForOthers = 23;
const RuntimeOptions kDedicated{.placement = Placement::kDedicated};

/// Of the ranks that compute: others take part in nothing while they serve.
void meet(const Runtime& runtime) {
  const Ranks compute = runtime.compute();
  ASSERT_TRUE(compute.communicator());
  EXPECT_TRUE((*compute.communicator())->barrier());
}

bool has_dedicated(const Yard& yard) { return yard.runtime.rank_count() < yard.ranks.size(); }

Placement writers_of(const Yard& yard) {
  return has_dedicated(yard) ? Placement::kDedicated : Placement::kInRank;
}

/// `compute` on the ranks that compute; the others serve.
template <class F>
void on_each_works(F compute) {
  comm::MakeTest::on_all_ranks([&](const Communicator& communicator) {
    Yard yard(communicator, kDedicated);
    if (yard.runtime.role() == Role::kCompute) return compute(yard);
    const Status served = yard.runtime.serve();
    EXPECT_TRUE(served) << served.error().message();
  });
}

/// Writes a step, reads it back, and expects that ranks given to I/O have written all of it.
void write_by_others_and_read(Yard& yard, const std::string& path, const WritePlan& plan) {
  SCOPED_TRACE(std::string(name_of(plan.strategy)) + ", writers " + std::to_string(plan.writers) +
               ", files " + std::to_string(plan.files));
  {
    auto dataset = yard.runtime.dataset(path, for_test(plan));
    ASSERT_TRUE(dataset) << dataset.error().message();
    EXPECT_EQ(dataset->plan().placement, writers_of(yard)) << dataset->plan().reason;
    for (const std::uint64_t number : {3U, 4U, 10U}) {
      const auto receipt = write_parts(yard, *dataset, number, kPartsForOthers);
      ASSERT_TRUE(receipt) << receipt.error().message();
      EXPECT_EQ(receipt->level, SafetyLevel::kDurable);
    }
    EXPECT_TRUE(dataset->close());
    if (has_dedicated(yard)) {
      EXPECT_EQ(dataset->report().written_bytes, 0U);
    }
  }
  meet(yard.runtime);
  if (yard.is_first()) {
    EXPECT_TRUE(has_steps(path, {3, 4, 10}, kPartsForOthers));
    EXPECT_TRUE(is_written_by(path, plan));
  }
  meet(yard.runtime);
}

constexpr std::array kByOthers{Strategy::kAuto, Strategy::kReducedBlocking, Strategy::kBrigade,
                               Strategy::kGather};

TEST_P(DedicatedDatasets, are_written_by_them_in_every_strategy_that_hands_over) {
  on_each_works([](Yard& yard) {
    for (const Strategy strategy : kByOthers) {
      const std::string path = yard.folder / std::string(name_of(strategy));
      if (strategy != Strategy::kAuto || has_dedicated(yard))
        write_by_others_and_read(yard, path, {.strategy = strategy});
    }
    WritePlan baton{.strategy = Strategy::kBaton, .files = 1};
    baton.placement = writers_of(yard);
    write_by_others_and_read(yard, yard.folder / "baton", baton);
  });
}

TEST_P(DedicatedDatasets, come_by_messages_and_by_shared_memory) {
  on_each_works([](Yard& yard) {
    for (const HandOff hand_off : {HandOff::kMessage, HandOff::kSharedMemory}) {
      WritePlan plan{.strategy = Strategy::kReducedBlocking, .unit_bytes = 64_KiB};
      plan.hand_off = hand_off;
      plan.memory_bytes = 1_MiB;  // much less than a step
      write_by_others_and_read(yard, yard.folder / std::string(name_of(hand_off)), plan);
    }
  });
}

TEST_P(DedicatedDatasets, have_as_many_writers_and_files_as_the_plan_says) {
  on_each_works([](Yard& yard) {
    const std::uint32_t others = yard.ranks.size() - yard.runtime.rank_count();
    for (std::uint32_t writers = 1; writers <= others; ++writers)
      for (std::uint32_t files = 1; files <= writers; ++files) {
        const std::string name = "w" + std::to_string(writers) + "f" + std::to_string(files);
        write_by_others_and_read(
            yard, yard.folder / name,
            {.strategy = Strategy::kReducedBlocking, .writers = writers, .files = files});
      }
  });
}

TEST_P(DedicatedDatasets, are_refused_where_each_rank_writes_its_own) {
  on_each_works([](Yard& yard) {
    for (const Strategy strategy :
         {Strategy::kSerial, Strategy::kFilePerProcess, Strategy::kCollective}) {
      const std::string path = yard.folder / std::string(name_of(strategy));
      WritePlan plan{.strategy = strategy};
      plan.placement = Placement::kDedicated;
      const auto refused = yard.runtime.dataset(path, plan);
      ASSERT_EQ(error_class(refused), ErrorClass::kInvalidArgument);
      EXPECT_TRUE(mentions(refused.error(), "placement")) << refused.error().message();
      // Nobody is out of step, and those who compute write it by themselves.
      auto dataset = yard.runtime.dataset(path, for_test({.strategy = strategy}));
      ASSERT_TRUE(dataset) << dataset.error().message();
      EXPECT_EQ(dataset->plan().placement, Placement::kInRank);
      EXPECT_TRUE(write_parts(yard, *dataset, 1, kPartsForOthers));
      EXPECT_TRUE(dataset->close());
    }
  });
}

TEST_P(DedicatedDatasets, are_read_back_where_ranks_are_given_to_io_and_where_none_is) {
  on_all_ranks([](const Communicator& communicator) {
    const comm::SharedFolder folder(communicator);
    const std::string path = folder / "run.fb";
    const auto reads = [&path](Runtime& runtime) {
      const auto stored = runtime.open_dataset(path);
      ASSERT_TRUE(stored) << stored.error().message();
      for (std::uint64_t part = 0; part < kPartsForOthers; ++part) {
        std::vector<double> values(elements_of_part(part));
        const auto got =
            stored->step(7).value().read("values", Part{part}, std::span(values)).wait();
        ASSERT_TRUE(got) << got.error().message();
        EXPECT_EQ(values, values_of_part(7, part));
      }
    };
    {
      Yard yard(communicator, kDedicated);
      if (yard.runtime.role() == Role::kCompute) {
        auto dataset = yard.runtime.dataset(path);
        ASSERT_TRUE(dataset) << dataset.error().message();
        EXPECT_TRUE(write_parts(yard, *dataset, 7, kPartsForOthers));
        EXPECT_TRUE(dataset->close());
        reads(yard.runtime);
      } else {
        EXPECT_TRUE(yard.runtime.serve());
      }
    }
    Yard plain(communicator);
    reads(plain.runtime);
  });
}

TEST_P(DedicatedDatasets, are_opened_and_closed_over_and_over) {
  on_each_works([](Yard& yard) {
    constexpr std::uint64_t kTimes = 30;
    for (std::uint64_t i = 1; i <= kTimes; ++i) {
      auto dataset = yard.runtime.dataset(yard.path(), for_test({.keep = 2}));
      ASSERT_TRUE(dataset) << i << ": " << dataset.error().message();
      auto step = dataset->begin_step(i);
      ASSERT_TRUE(step) << step.error().message();
      const std::vector<double> value{static_cast<double>(i)};
      EXPECT_TRUE(step->put("value", Part{yard.runtime.rank()}, std::span(value)));
      EXPECT_TRUE(step->commit().wait());
      EXPECT_TRUE(dataset->close());
    }
    const auto stored = yard.runtime.open_dataset(yard.path());
    ASSERT_TRUE(stored) << stored.error().message();
    EXPECT_EQ(stored->newest_step(), kTimes);
  });
}

TEST_P(DedicatedDatasets, several_at_once_do_not_wait_for_each_other) {
  on_each_works([](Yard& yard) {
    std::vector<Dataset> open;
    for (const std::string name : {"a", "b", "c"}) {
      auto dataset = yard.runtime.dataset(yard.folder / name);
      ASSERT_TRUE(dataset) << dataset.error().message();
      open.push_back(std::move(*dataset));
    }
    auto held = open[0].begin_step(1);
    ASSERT_TRUE(held) << held.error().message();
    for (std::size_t i = 1; i < open.size(); ++i)
      EXPECT_TRUE(write_parts(yard, open[i], 1, kPartsForOthers));
    // One that is open cannot be opened, and is none the worse for it.
    EXPECT_EQ(error_class(yard.runtime.dataset(yard.folder / "a")), ErrorClass::kPermission);
    EXPECT_TRUE(held->commit().wait());
    for (const Dataset& dataset : open)
      EXPECT_TRUE(dataset.close());
  });
}

TEST_P(DedicatedDatasets, are_whole_though_nobody_waited_for_them) {
  on_all_ranks([](const Communicator& communicator) {
    const comm::SharedFolder folder(communicator);
    std::optional<Yard> yard(std::in_place, communicator, kDedicated);
    const std::string path = folder / "run.fb";
    if (yard->runtime.role() == Role::kAgent) {
      EXPECT_TRUE(yard->runtime.serve());
    } else {
      auto dataset = yard->runtime.dataset(path);
      ASSERT_TRUE(dataset) << dataset.error().message();
      auto step = dataset->begin_step(1);
      ASSERT_TRUE(step) << step.error().message();
      const auto mine = parts_of(yard->runtime.rank(), yard->runtime.rank_count(), kPartsForOthers);
      for (const std::uint64_t part : mine) {
        const std::vector<double> values = values_of_part(1, part);
        EXPECT_TRUE(step->put("values", Part{part}, std::span(values)));
      }
      std::ignore = step->commit();
    }
    yard.reset();
    EXPECT_TRUE(has_steps(path, {1}, kPartsForOthers));
    EXPECT_TRUE(communicator->barrier());
  });
}

TEST_P(DedicatedDatasets, skip_what_a_rank_gives_up_and_go_on) {
  on_each_works([](Yard& yard) {
    write_two_of_three(yard, kPartsForOthers);
    meet(yard.runtime);
    if (yard.is_first()) {
      EXPECT_TRUE(has_steps(yard.path(), {1, 3}, kPartsForOthers));
    }
  });
}

TEST_P(DedicatedDatasets, wait_for_those_who_serve_a_little_later) {
  on_all_ranks([](const Communicator& communicator) {
    Yard yard(communicator, kDedicated);
    if (yard.runtime.role() == Role::kAgent) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      EXPECT_TRUE(yard.runtime.serve());
      return;
    }
    write_by_others_and_read(yard, yard.path(), {.strategy = Strategy::kReducedBlocking});
  });
}

TEST_P(DedicatedDatasets, are_not_opened_where_the_writer_does_not_serve) {
  on_all_ranks([](const Communicator& communicator) {
    Yard yard(communicator, kDedicated);
    if (yard.runtime.role() == Role::kAgent) {
      yard.meet();  // too late for the first two
      EXPECT_TRUE(yard.runtime.serve());
      return;
    }
    WritePlan hasty{.strategy = Strategy::kReducedBlocking};
    hasty.deadline = std::chrono::milliseconds(200);
    for (int i = 0; i < 2 && has_dedicated(yard); ++i) {
      const auto dataset = yard.runtime.dataset(yard.path(), hasty);
      ASSERT_EQ(error_class(dataset), ErrorClass::kLimit);
      EXPECT_EQ(dataset.error().rank(), yard.runtime.rank_count());
      EXPECT_TRUE(mentions(dataset.error(), "serve()")) << dataset.error().message();
    }
    yard.meet();
    write_by_others_and_read(yard, yard.path(), {.strategy = Strategy::kReducedBlocking});
  });
}

TEST_P(DedicatedDatasets, are_written_by_those_who_compute_if_the_others_have_ended) {
  on_all_ranks([](const Communicator& communicator) {
    const comm::SharedFolder folder(communicator);
    std::optional<Yard> yard(std::in_place, communicator, kDedicated);
    if (yard->runtime.role() == Role::kAgent) {
      return yard.reset();  // without a word
    }
    const std::string path = folder / "run.fb";
    if (has_dedicated(*yard)) {
      const auto dataset = yard->runtime.dataset(path);
      ASSERT_EQ(error_class(dataset), ErrorClass::kClosed);
      EXPECT_GE(dataset.error().rank(), yard->runtime.rank_count());
      EXPECT_EQ(dataset.error().path(), path);
    }
    WritePlan plan;
    plan.placement = Placement::kInRank;
    auto dataset = yard->runtime.dataset(path, plan);
    ASSERT_TRUE(dataset) << dataset.error().message();
    EXPECT_TRUE(write_parts(*yard, *dataset, 1, kPartsForOthers));
    EXPECT_TRUE(dataset->close());
  });
}

}  // namespace
}  // namespace forebay
