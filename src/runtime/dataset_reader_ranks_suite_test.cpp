// SPDX-License-Identifier: Apache-2.0
// One dataset, read by several ranks independently.
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "comm/ranks_access.hpp"
#include "runtime/dataset_reader_testing.hpp"

namespace forebay {
namespace {

constexpr std::uint64_t kStoredParts = 23;

/// A RuntimeFixture with a dataset of two steps in its directory.
struct DatasetReaderFixture : RuntimeFixture {
  explicit DatasetReaderFixture(const Communicator& communicator) : RuntimeFixture(communicator) {
    if (is_first()) {
      format::TestWriter writer(path(), format::test_dataset_id());
      writer.write(large_step(1, kStoredParts, 4));
      writer.write(large_step(2, kStoredParts, 8));
    }
    barrier();
  }
  std::string path() const { return directory / "run.fb"; }
};

template <class F>
void with_dataset_reader_fixture(F test) {
  comm::CommunicatorTest::run_on_all_ranks([&](const Communicator& communicator) {
    DatasetReaderFixture fixture(communicator);
    test(fixture);
    fixture.barrier();
  });
}

void expect_all_parts(const StepReader& step) {
  for (std::uint64_t part = 0; part < kStoredParts; ++part)
    expect_part(step, Part{part});
}

TEST_P(DatasetReaderRanksSuite, every_rank_reads_its_share) {
  with_dataset_reader_fixture([](DatasetReaderFixture& fixture) {
    const std::uint32_t rank = fixture.runtime.rank();
    const std::uint32_t ranks = fixture.runtime.rank_count();
    const auto dataset = fixture.runtime.open_dataset(fixture.path());
    ASSERT_TRUE(dataset) << dataset.error().message();
    for (const std::uint64_t number : dataset->steps()) {
      const StepReader step = dataset->open_step(number).value();
      const auto mine = step.parts_of_rank("speed", rank, ranks);
      ASSERT_TRUE(mine) << mine.error().message();
      EXPECT_GE(mine->size(), kStoredParts / ranks);
      EXPECT_LE(mine->size(), kStoredParts / ranks + 1);
      for (const Part part : *mine)
        expect_part(step, part);
    }
  });
}

TEST_P(DatasetReaderRanksSuite, limited_concurrent_readers_read_the_same) {
  with_dataset_reader_fixture([](DatasetReaderFixture& fixture) {
    for (const std::uint32_t readers_max : {1U, 2U}) {
      const auto dataset = fixture.runtime.open_dataset(
          fixture.path(), {.concurrent_readers_max = fixture.is_first() ? readers_max : 0});
      ASSERT_TRUE(dataset) << dataset.error().message();
      const StepReader step = dataset->open_step(*dataset->newest_step()).value();
      expect_all_parts(step);
    }
  });
}

TEST_P(DatasetReaderRanksSuite, rank_that_holds_its_permit_and_computes_does_not_block_others) {
  with_dataset_reader_fixture([](DatasetReaderFixture& fixture) {
    const auto dataset =
        fixture.runtime.open_dataset(fixture.path(), {.concurrent_readers_max = 1});
    ASSERT_TRUE(dataset) << dataset.error().message();
    const StepReader step = dataset->open_step(1).value();
    std::vector<double> values(elements_in(3));
    std::optional<Future<ByteCount>> begun;
    if (fixture.is_first()) {
      expect_part(step, Part{2});
      begun = step.read("speed", Part{3}, std::span(values));  // uses the permit that it holds
    }
    fixture.barrier();
    if (!begun) expect_part(step, Part{3});
    fixture.barrier();  // the first rank has not polled its request meanwhile
    if (begun) {
      EXPECT_TRUE(begun->wait());
      EXPECT_EQ(values, values_of(1, 3, values.size()));
    }
  });
}

TEST_P(DatasetReaderRanksSuite, rank_that_closes_early_does_not_block_waiting_ranks) {
  with_dataset_reader_fixture([](DatasetReaderFixture& fixture) {
    for (const std::uint32_t early : {0U, fixture.last()}) {
      auto opened = fixture.runtime.open_dataset(fixture.path(), {.concurrent_readers_max = 1});
      ASSERT_TRUE(opened) << opened.error().message();
      std::optional<DatasetReader> dataset(std::move(*opened));
      std::optional<StepReader> step = dataset->open_step(1).value();
      if (fixture.runtime.rank() == early) {
        std::vector<double> values(elements_in(3));
        std::ignore = step->read("speed", Part{3}, std::span(values));  // requested, and dropped
        step.reset();
        dataset.reset();
      }
      fixture.barrier();
      if (step) expect_all_parts(*step);
      fixture.barrier();
    }
  });
}

TEST_P(DatasetReaderRanksSuite, runtime_that_ends_with_a_permit_does_not_block_others) {
  comm::CommunicatorTest::run_on_all_ranks([](const Communicator& communicator) {
    DatasetReaderFixture fixture(communicator);
    for (const std::uint32_t leaver : {0U, fixture.last()}) {
      auto runtime = std::make_unique<Runtime>(comm::make_ranks(communicator), test_options());
      const auto dataset = runtime->open_dataset(fixture.path(), {.concurrent_readers_max = 1});
      ASSERT_TRUE(dataset) << dataset.error().message();
      const StepReader step = dataset->open_step(1).value();
      std::vector<double> values(elements_in(3));
      std::optional<Future<ByteCount>> begun;
      if (fixture.runtime.rank() == leaver) {
        expect_part(step, Part{2});
        begun = step.read("speed", Part{3}, std::span(values));  // uses the permit that it holds
        runtime.reset();
      }
      fixture.barrier();
      if (!begun) expect_all_parts(step);
      fixture.barrier();
    }
  });
}

TEST_P(DatasetReaderRanksSuite, any_mapping_of_parts_to_ranks_works) {
  const std::vector<std::function<bool(std::uint64_t, std::uint32_t, std::uint32_t)>> mappings = {
      [](std::uint64_t part, std::uint32_t rank, std::uint32_t n) { return part % n == rank; },
      [](std::uint64_t part, std::uint32_t rank, std::uint32_t n) {
        return (part * 7919 + 13) % n == rank;
      },
      [](std::uint64_t, std::uint32_t rank, std::uint32_t) { return rank == 0; },
      [](std::uint64_t, std::uint32_t, std::uint32_t) { return true; },
      [](std::uint64_t part, std::uint32_t rank, std::uint32_t) { return part < 3 && rank != 1; },
  };
  with_dataset_reader_fixture([&](DatasetReaderFixture& fixture) {
    const StepReader step = open_newest_step(fixture.runtime, fixture.path());
    for (const auto& is_mine : mappings) {
      for (std::uint64_t part = kStoredParts; part-- > 0;) {
        if (is_mine(part, fixture.runtime.rank(), fixture.runtime.rank_count()))
          expect_part(step, Part{part});
      }
    }
  });
}

TEST_P(DatasetReaderRanksSuite, all_ranks_see_the_same_steps_after_later_publication) {
  with_dataset_reader_fixture([](DatasetReaderFixture& fixture) {
    const auto before = fixture.runtime.open_dataset(fixture.path());
    fixture.barrier();
    if (fixture.is_first())
      format::TestWriter(fixture.directory / "other.fb", format::test_dataset_id())
          .write(large_step(9, 3, 1));
    const auto other = fixture.runtime.open_dataset(fixture.directory / "other.fb");
    ASSERT_TRUE(other) << other.error().message();
    EXPECT_EQ(other->newest_step(), 9U);
    EXPECT_EQ(before->newest_step(), 2U);
    expect_part(other->open_step(9).value(), Part{2});
  });
}

TEST_P(DatasetReaderRanksSuite, failure_of_the_first_rank_is_an_error_on_all) {
  with_dataset_reader_fixture([](DatasetReaderFixture& fixture) {
    const auto missing = fixture.runtime.open_dataset(fixture.directory / "missing.fb");
    ASSERT_EQ(error_class(missing), ErrorClass::kNotFound);
    EXPECT_TRUE(message_contains(missing.error(), "missing.fb")) << missing.error().message();
    EXPECT_TRUE(fixture.runtime.open_dataset(fixture.path()));  // collective calls still match
  });
}

TEST_P(DatasetReaderRanksSuite, sessions_of_datasets_do_not_shift_numbers_of_file_sessions) {
  with_dataset_reader_fixture([](DatasetReaderFixture& fixture) {
    const StepReader step = open_newest_step(fixture.runtime, fixture.path());
    if (fixture.runtime.rank() % 2 == 1) expect_part(step, Part{3});
    const auto file = fixture.runtime.open_file(fixture.RuntimeFixture::path());
    const auto session = file->read_session();
    ASSERT_TRUE(session) << session.error().message();
    const auto sent = broadcast_value(fixture.ranks, session->handle(), fixture.last());
    EXPECT_EQ(sent, session->handle());
    EXPECT_TRUE(fixture.runtime.find_session(sent));
    fixture.barrier();
  });
}

}  // namespace
}  // namespace forebay
