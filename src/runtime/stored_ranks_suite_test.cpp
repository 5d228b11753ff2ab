// SPDX-License-Identifier: Apache-2.0
// One dataset, read by several ranks, each as it likes.
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "runtime/stored_testing.hpp"

namespace forebay {
namespace {

constexpr std::uint64_t kStoredParts = 23;

/// A Site with a dataset of two steps in its folder.
struct Restart : Site {
  explicit Restart(const Communicator& communicator) : Site(communicator) {
    if (is_first()) {
      format::TestWriter writer(path(), format::test_dataset());
      writer.write(large_step(1, kStoredParts, 4));
      writer.write(large_step(2, kStoredParts, 8));
    }
    meet();
  }
  std::string path() const { return folder / "run.fb"; }
};

template <class F>
void on_each_restart(F test) {
  comm::MakeTest::on_all_ranks([&](const Communicator& communicator) {
    Restart restart(communicator);
    test(restart);
    restart.meet();
  });
}

void expect_all_parts(const StoredStep& step) {
  for (std::uint64_t part = 0; part < kStoredParts; ++part)
    expect_part(step, Part{part});
}

TEST_P(StoredRanksSuite, every_rank_reads_its_share) {
  on_each_restart([](Restart& restart) {
    const std::uint32_t rank = restart.runtime.rank();
    const std::uint32_t ranks = restart.runtime.rank_count();
    const auto dataset = restart.runtime.open_dataset(restart.path());
    ASSERT_TRUE(dataset) << dataset.error().message();
    for (const std::uint64_t number : dataset->steps()) {
      const StoredStep step = dataset->step(number).value();
      const auto mine = step.parts_of_rank("speed", rank, ranks);
      ASSERT_TRUE(mine) << mine.error().message();
      EXPECT_GE(mine->size(), kStoredParts / ranks);
      EXPECT_LE(mine->size(), kStoredParts / ranks + 1);
      for (const Part part : *mine)
        expect_part(step, part);
    }
  });
}

TEST_P(StoredRanksSuite, ranks_that_read_by_turns_read_the_same) {
  on_each_restart([](Restart& restart) {
    for (const std::uint32_t at_once : {1U, 2U}) {
      const auto dataset = restart.runtime.open_dataset(
          restart.path(), {.readers_at_once = restart.is_first() ? at_once : 0});
      ASSERT_TRUE(dataset) << dataset.error().message();
      const StoredStep step = dataset->step(*dataset->newest_step()).value();
      expect_all_parts(step);
    }
  });
}

TEST_P(StoredRanksSuite, one_that_keeps_its_turn_and_computes_stops_nobody) {
  on_each_restart([](Restart& restart) {
    const auto dataset = restart.runtime.open_dataset(restart.path(), {.readers_at_once = 1});
    ASSERT_TRUE(dataset) << dataset.error().message();
    const StoredStep step = dataset->step(1).value();
    std::vector<double> values(elements_in(3));
    std::optional<Future<ByteCount>> begun;
    if (restart.is_first()) {
      expect_part(step, Part{2});
      begun = step.read("speed", Part{3}, std::span(values));  // with the turn that it has
    }
    restart.meet();
    if (!begun) expect_part(step, Part{3});
    restart.meet();  // the first rank has not looked at its request meanwhile
    if (begun) {
      EXPECT_TRUE(begun->wait());
      EXPECT_EQ(values, values_of(1, 3, values.size()));
    }
  });
}

TEST_P(StoredRanksSuite, one_that_closes_early_stops_nobody_who_waits_for_a_turn) {
  on_each_restart([](Restart& restart) {
    for (const std::uint32_t early : {0U, restart.last()}) {
      auto opened = restart.runtime.open_dataset(restart.path(), {.readers_at_once = 1});
      ASSERT_TRUE(opened) << opened.error().message();
      std::optional<StoredDataset> dataset(std::move(*opened));
      std::optional<StoredStep> step = dataset->step(1).value();
      if (restart.runtime.rank() == early) {
        std::vector<double> values(elements_in(3));
        std::ignore = step->read("speed", Part{3}, std::span(values));  // asked for, and dropped
        step.reset();
        dataset.reset();
      }
      restart.meet();
      if (step) expect_all_parts(*step);
      restart.meet();
    }
  });
}

TEST_P(StoredRanksSuite, one_whose_runtime_ends_with_its_turn_stops_nobody) {
  comm::MakeTest::on_all_ranks([](const Communicator& communicator) {
    Restart restart(communicator);
    for (const std::uint32_t leaver : {0U, restart.last()}) {
      auto runtime = std::make_unique<Runtime>(Ranks(communicator), tested());
      const auto dataset = runtime->open_dataset(restart.path(), {.readers_at_once = 1});
      ASSERT_TRUE(dataset) << dataset.error().message();
      const StoredStep step = dataset->step(1).value();
      std::vector<double> values(elements_in(3));
      std::optional<Future<ByteCount>> begun;
      if (restart.runtime.rank() == leaver) {
        expect_part(step, Part{2});
        begun = step.read("speed", Part{3}, std::span(values));  // with the turn that it has
        runtime.reset();
      }
      restart.meet();
      if (!begun) expect_all_parts(step);
      restart.meet();
    }
  });
}

TEST_P(StoredRanksSuite, any_mapping_of_parts_to_ranks_will_do) {
  const std::vector<std::function<bool(std::uint64_t, std::uint32_t, std::uint32_t)>> mappings = {
      [](std::uint64_t part, std::uint32_t rank, std::uint32_t n) { return part % n == rank; },
      [](std::uint64_t part, std::uint32_t rank, std::uint32_t n) {
        return (part * 7919 + 13) % n == rank;
      },
      [](std::uint64_t, std::uint32_t rank, std::uint32_t) { return rank == 0; },
      [](std::uint64_t, std::uint32_t, std::uint32_t) { return true; },
      [](std::uint64_t part, std::uint32_t rank, std::uint32_t) { return part < 3 && rank != 1; },
  };
  on_each_restart([&](Restart& restart) {
    const StoredStep step = newest_of(restart.runtime, restart.path());
    for (const auto& is_mine : mappings) {
      for (std::uint64_t part = kStoredParts; part-- > 0;) {
        if (is_mine(part, restart.runtime.rank(), restart.runtime.rank_count()))
          expect_part(step, Part{part});
      }
    }
  });
}

TEST_P(StoredRanksSuite, all_see_the_same_steps_whoever_publishes_meanwhile) {
  on_each_restart([](Restart& restart) {
    const auto before = restart.runtime.open_dataset(restart.path());
    restart.meet();
    if (restart.is_first())
      format::TestWriter(restart.folder / "other.fb", format::test_dataset())
          .write(large_step(9, 3, 1));
    const auto other = restart.runtime.open_dataset(restart.folder / "other.fb");
    ASSERT_TRUE(other) << other.error().message();
    EXPECT_EQ(other->newest_step(), 9U);
    EXPECT_EQ(before->newest_step(), 2U);
    expect_part(other->step(9).value(), Part{2});
  });
}

TEST_P(StoredRanksSuite, what_the_first_rank_cannot_open_is_an_error_for_all) {
  on_each_restart([](Restart& restart) {
    const auto missing = restart.runtime.open_dataset(restart.folder / "missing.fb");
    ASSERT_EQ(error_class(missing), ErrorClass::kNotFound);
    EXPECT_TRUE(mentions(missing.error(), "missing.fb")) << missing.error().message();
    EXPECT_TRUE(restart.runtime.open_dataset(restart.path()));  // nothing is out of step
  });
}

TEST_P(StoredRanksSuite, sessions_of_datasets_do_not_shift_those_of_files) {
  on_each_restart([](Restart& restart) {
    const StoredStep step = newest_of(restart.runtime, restart.path());
    if (restart.runtime.rank() % 2 == 1) expect_part(step, Part{3});
    const auto file = restart.runtime.open(restart.Site::path());
    const auto session = file->read_session();
    ASSERT_TRUE(session) << session.error().message();
    const auto sent = passed_on(restart.ranks, session->handle(), restart.last());
    EXPECT_EQ(sent, session->handle());
    EXPECT_TRUE(restart.runtime.session(sent));
    restart.meet();
  });
}

}  // namespace
}  // namespace forebay
