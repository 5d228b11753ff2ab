// SPDX-License-Identifier: Apache-2.0
// The one suite for all backends: what an Engine does is the same whoever makes the attempts, on
// which kind of file, and whatever goes wrong on the way. A new backend is done when it stands in
// the list of conformance.hpp and this passes.
#include "storage/conformance.hpp"

#include <cerrno>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/buffer_pool.hpp"
#include "storage/memory_file.hpp"
#include "storage/probe.hpp"

namespace forebay::storage {
namespace {

TEST_P(Conformance, reads_every_byte_whatever_the_order) {
  constexpr std::size_t kPieces = 100;
  const auto file = make_file(kPieces * unit() - 123);
  const AlignedMemory memory(kPieces * unit());
  std::vector<Operation> reads = reads_of_units(*file, memory.bytes());
  std::shuffle(reads.begin(), reads.end(), std::mt19937(1));
  const auto outcomes = run(reads);
  ASSERT_EQ(outcomes.size(), kPieces);
  for (const auto& [piece, bytes] : outcomes) {
    ASSERT_TRUE(bytes) << bytes.error().message();
    EXPECT_EQ(*bytes, piece + 1 < kPieces ? unit() : unit() - 123) << "piece " << piece;
  }
  const std::size_t expected = kPieces * unit() - 123;
  EXPECT_EQ(matching_pattern(memory.bytes().first(expected), 0), expected);
}

TEST_P(Conformance, one_long_read_has_every_byte) {
  const std::size_t size = 500 * unit();
  const auto file = make_file(size);
  const AlignedMemory memory(size);
  const auto bytes = run_one(read_operation(*file, 0, memory.bytes(), 5));
  ASSERT_TRUE(bytes) << bytes.error().message();
  EXPECT_EQ(*bytes, size);
  EXPECT_EQ(matching_pattern(memory.bytes(), 0), size);
}

TEST_P(Conformance, read_across_the_end_is_short) {
  const auto file = make_file(2 * unit() + 100);
  const AlignedMemory memory(8 * unit());
  EXPECT_EQ(moved(read_operation(*file, unit(), memory.bytes(), 1)), unit() + 100);
  EXPECT_EQ(matching_pattern(memory.bytes().first(unit() + 100), unit()), unit() + 100);
  EXPECT_EQ(moved(read_operation(*file, 2 * unit(), memory.bytes(), 1)), 100U);
  EXPECT_EQ(moved(read_operation(*file, 3 * unit(), memory.bytes(), 1)), 0U);
  EXPECT_EQ(moved(read_operation(*file, 3000 * unit(), memory.bytes(), 1)), 0U);
}

TEST_P(Conformance, empty_file_and_empty_reads_give_nothing) {
  const auto empty = make_file(0);
  const auto file = make_file(unit());
  const AlignedMemory memory(unit());
  EXPECT_EQ(moved(read_operation(*empty, 0, memory.bytes(), 1)), 0U);
  EXPECT_EQ(moved(read_operation(*file, 0, {}, 2)), 0U);
}

TEST_P(Conformance, written_bytes_are_read_back) {
  constexpr std::size_t kPieces = 20;
  const auto file = make_file(0, Intent::kWrite);
  const AlignedMemory from(kPieces * unit());
  fill_pattern(from.bytes(), 0);
  const auto allocated = run_one(allocate_operation(*file, {0, kPieces * unit()}, 1));
  ASSERT_TRUE(allocated) << allocated.error().message();
  EXPECT_EQ(*file->size(), kPieces * unit());
  std::vector<Operation> writes;
  for (std::uint64_t piece = 0; piece < kPieces; ++piece) {
    const std::uint64_t offset = piece * unit();
    writes.push_back(write_operation(*file, offset, from.bytes().subspan(offset, unit()), piece));
  }
  for (const auto& [piece, bytes] : run(writes)) {
    ASSERT_TRUE(bytes) << bytes.error().message();
    EXPECT_EQ(*bytes, unit()) << "piece " << piece;
  }
  EXPECT_EQ(moved(sync_operation(*file, 99)), 0U);
  EXPECT_EQ(moved(write_operation(*file, 0, {}, 100)), 0U);
  EXPECT_EQ(moved(allocate_operation(*file, {0, 0}, 101)), 0U);
  const AlignedMemory into(kPieces * unit());
  EXPECT_EQ(moved(read_operation(*file, 0, into.bytes(), 102)), kPieces * unit());
  EXPECT_EQ(matching_pattern(into.bytes(), 0), kPieces * unit());
}

TEST_P(Conformance, no_more_than_the_capacity_is_taken) {
  const auto file = make_file(3 * kQueueDepth * unit());
  const AlignedMemory memory(3 * kQueueDepth * unit());
  const std::vector<Operation> reads = reads_of_units(*file, memory.bytes());
  EXPECT_EQ(engine().capacity(), kQueueDepth);
  EXPECT_EQ(engine().submit(reads), kQueueDepth);
  EXPECT_EQ(engine().in_flight(), kQueueDepth);
  const std::span<const Operation> left = std::span(reads).subspan(kQueueDepth);
  EXPECT_EQ(engine().submit(left), 0U);
  std::array<Completion, 1> one;
  while (engine().wait(one, std::nullopt) == 0) {
  }
  EXPECT_EQ(engine().submit(left), 1U);
  std::array<Completion, kQueueDepth> rest;
  std::size_t count = 0;
  while (count < kQueueDepth)
    count += engine().wait(rest, std::nullopt);
  EXPECT_EQ(count, kQueueDepth);
}

TEST_P(Conformance, what_is_enqueued_starts_with_the_next_wait) {
  constexpr std::size_t kUnits = 200;
  const auto file = make_file(kUnits * unit());
  const AlignedMemory memory(kUnits * unit());
  const auto reads = reads_of_units(*file, memory.bytes());
  std::span<const Operation> left = reads;
  std::size_t done = 0;
  const TimePoint deadline = SteadyClock::shared().now() + kPatience;
  while (done < kUnits && SteadyClock::shared().now() < deadline) {
    // Three for one that is waited for: some waits find completions that came with another.
    left = left.subspan(engine().enqueue(left.first(std::min<std::size_t>(3, left.size()))));
    Completion one;
    done += engine().wait({&one, 1}, deadline);
  }
  EXPECT_EQ(done, kUnits);
  EXPECT_EQ(engine().in_flight(), 0U);
  EXPECT_EQ(matching_pattern(memory.bytes(), 0), kUnits * unit());
}

TEST_P(Conformance, two_files_are_not_mixed_up) {
  const auto first = make_file(10 * unit());
  const auto second = make_file(3 * unit());
  const AlignedMemory memory(8 * unit());
  const auto half = [&](std::size_t which) {
    return memory.bytes().subspan(which * 4 * unit(), 4 * unit());
  };
  const std::array<Operation, 2> reads{read_operation(*first, unit(), half(0), 1),
                                       read_operation(*second, unit(), half(1), 2)};
  const auto outcomes = run(reads);
  EXPECT_EQ(outcomes.at(1).value(), 4 * unit());
  EXPECT_EQ(outcomes.at(2).value(), 2 * unit());
}

TEST_P(Conformance, failure_of_one_operation_leaves_the_others_alone) {
  const auto good = make_file(4 * unit());
  std::unique_ptr<File> bad = make_file(4 * unit(), Intent::kRead);
  if (place() == Place::kMemory) {  // has no permissions: break it otherwise
    bad = std::make_unique<FaultyFile>(std::move(bad), FileFaults{.bad_offset = 2 * unit()});
  }
  const AlignedMemory memory(3 * unit());
  const auto piece = [&](std::size_t which) {
    return memory.bytes().subspan(which * unit(), unit());
  };
  const std::array<Operation, 3> operations{
      read_operation(*good, 0, piece(0), 1),
      write_operation(*bad, 2 * unit(), piece(1), 2),
      read_operation(*good, 2 * unit(), piece(2), 3),
  };
  const auto outcomes = run(operations);
  EXPECT_EQ(outcomes.at(1).value(), unit());
  EXPECT_EQ(outcomes.at(3).value(), unit());
  ASSERT_FALSE(outcomes.at(2));
  const Error& error = outcomes.at(2).error();
  EXPECT_EQ(error.operation(), "write");
  EXPECT_EQ(error.path(), bad->path());
  EXPECT_EQ(error.offset_bytes(), 2 * unit());
  EXPECT_EQ(error.error_number(), place() == Place::kMemory ? EIO : EBADF);
}

TEST_P(Conformance, file_that_shrank_gives_a_short_read) {
  const auto file = make_file(10 * unit(), Intent::kWrite);
  const AlignedMemory memory(10 * unit());
  EXPECT_EQ(moved(read_operation(*file, 0, memory.bytes(), 1)), 10 * unit());
  ASSERT_TRUE(file->truncate(3 * unit() + 5));
  EXPECT_EQ(moved(read_operation(*file, 0, memory.bytes(), 1)), 3 * unit() + 5);
}

TEST_P(Conformance, file_that_grew_gives_the_new_bytes) {
  const auto file = make_file(unit(), Intent::kWrite);
  const AlignedMemory memory(2 * unit());
  EXPECT_EQ(moved(read_operation(*file, 0, memory.bytes(), 1)), unit());
  ASSERT_TRUE(file->truncate(2 * unit()));
  EXPECT_EQ(moved(read_operation(*file, 0, memory.bytes(), 1)), 2 * unit());
  EXPECT_EQ(matching_pattern(memory.bytes().first(unit()), 0), unit());
  EXPECT_EQ(memory.bytes()[unit()], std::byte{0});
}

TEST_P(Conformance, registered_buffers_get_the_same_bytes) {
  constexpr std::size_t kPieces = 10;
  const auto pool = BufferPool::create({.buffer_bytes = kPieces * 4096, .count = 1});
  ASSERT_TRUE(pool);
  // A memlock limit may refuse it; transfers must work either way, and with memory outside of it
  // too.
  std::ignore = engine().add_buffers((*pool)->arena());
  const auto file = make_file(kPieces * unit());
  const AlignedMemory outside(kPieces * unit());
  const std::span<std::byte> inside = (*pool)->arena().first(kPieces * unit());
  const std::array<Operation, 2> reads{read_operation(*file, 0, inside, 1),
                                       read_operation(*file, 0, outside.bytes(), 2)};
  const auto outcomes = run(reads);
  EXPECT_EQ(outcomes.at(1).value(), kPieces * unit());
  EXPECT_EQ(outcomes.at(2).value(), kPieces * unit());
  EXPECT_EQ(matching_pattern(inside, 0), kPieces * unit());
  EXPECT_EQ(matching_pattern(outside.bytes(), 0), kPieces * unit());
  engine().remove_buffers((*pool)->arena());
}

TEST_P(Conformance, buffers_come_and_go_while_others_are_in_flight) {
  constexpr std::size_t kPieces = 4;
  const auto make_pool = [] {
    return BufferPool::create({.buffer_bytes = kPieces * 4096, .count = 2}).value();
  };
  const auto file = make_file(kPieces * unit());
  const auto staying = make_pool();
  std::ignore = engine().add_buffers(staying->arena());
  const std::span<std::byte> stays = staying->arena().first(kPieces * unit());
  std::array<Completion, 4> completions;
  for (int round = 0; round < 300; ++round) {
    const Operation read = read_operation(*file, 0, stays, 1);
    ASSERT_EQ(engine().submit({&read, 1}), 1U);
    const auto passing = make_pool();
    std::ignore = engine().add_buffers(passing->arena());
    const std::span<std::byte> passes = passing->arena().last(kPieces * unit());
    const Operation other = read_operation(*file, 0, passes, 2);
    ASSERT_EQ(engine().submit({&other, 1}), 1U);
    while (engine().in_flight() > 0)
      engine().wait(completions, std::nullopt);
    engine().remove_buffers(passing->arena());
    ASSERT_EQ(matching_pattern(passes, 0), passes.size());
  }
  EXPECT_EQ(matching_pattern(stays, 0), stays.size());
}

TEST_P(Conformance, wait_for_nothing_ends_at_the_deadline) {
  std::array<Completion, 1> completions;
  EXPECT_EQ(engine().wait(completions, kDoNotBlock), 0U);
  const TimePoint deadline = SteadyClock::shared().now() + std::chrono::milliseconds(3);
  EXPECT_EQ(engine().wait(completions, deadline), 0U);
  EXPECT_GE(SteadyClock::shared().now(), deadline);
}

TEST_P(Conformance, wake_ends_a_wait_before_and_after_it_began) {
  std::array<Completion, 1> completions;
  for (int round = 0; round < 20; ++round) {
    engine().wake();
    EXPECT_EQ(engine().wait(completions, std::nullopt), 0U);
    std::jthread waker([this] { engine().wake(); });
    EXPECT_EQ(engine().wait(completions, std::nullopt), 0U);
  }
}

TEST_P(Conformance, wakes_do_not_hide_completions) {
  constexpr std::size_t kReads = 200;
  const auto file = make_file(kReads * unit());
  const AlignedMemory memory(kReads * unit());
  std::atomic<bool> done{false};
  std::jthread waker([&] {
    while (!done.load()) {
      engine().wake();
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(run(reads_of_units(*file, memory.bytes())).size(), kReads);
  done.store(true);
}

TEST_P(Conformance, end_with_operations_under_way_is_clean) {
  const auto file = make_file(kQueueDepth * unit());
  const AlignedMemory memory(kQueueDepth * unit());
  EXPECT_EQ(engine().submit(reads_of_units(*file, memory.bytes())), kQueueDepth);
  end_engine();  // file and memory are still there
}

/// Offsets that fail, under whatever else goes wrong: exactly the transfers that touch them fail.
TEST_P(Conformance, bad_offsets_fail_their_transfers_and_no_others) {
  constexpr std::size_t kPieces = 16;
  const auto file = make_file(kPieces * unit());
  const AlignedMemory memory(kPieces * unit());
  FaultPlan plan = GetParam().faults.value_or(FaultPlan{});
  plan.bad_offsets = {3 * unit() + 1, 8 * unit()};
  make_engine(plan);
  for (const auto& [piece, bytes] : run(reads_of_units(*file, memory.bytes()))) {
    const bool is_bad = piece == 3 || piece == 8;
    EXPECT_EQ(bytes.has_value(), !is_bad) << "piece " << piece;
    if (is_bad) {
      EXPECT_EQ(bytes.error().kind(), ErrorClass::kIo);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sound, Conformance, ::testing::ValuesIn(sound_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Faulty, Conformance, ::testing::ValuesIn(faulty_cases()), case_name);

}  // namespace
}  // namespace forebay::storage
