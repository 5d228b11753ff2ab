// SPDX-License-Identifier: Apache-2.0
// The suite for all backends: an Engine does the same on every backend, every kind of file, and
// under every fault. A new backend is complete when the list of conformance.hpp has it and this
// passes.
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

TEST_P(Conformance, reads_every_byte_in_any_order) {
  constexpr std::size_t kPieces = 100;
  const auto file = make_file(kPieces * unit_bytes() - 123);
  const AlignedMemory memory(kPieces * unit_bytes());
  std::vector<Operation> reads = reads_of_units(*file, memory.bytes());
  std::shuffle(reads.begin(), reads.end(), std::mt19937(1));
  const auto outcomes = run(reads);
  ASSERT_EQ(outcomes.size(), kPieces);
  for (const auto& [piece, bytes] : outcomes) {
    ASSERT_TRUE(bytes) << bytes.error().message();
    EXPECT_EQ(*bytes, piece + 1 < kPieces ? unit_bytes() : unit_bytes() - 123) << "piece " << piece;
  }
  const std::size_t expected = kPieces * unit_bytes() - 123;
  EXPECT_EQ(matching_pattern(memory.bytes().first(expected), 0), expected);
}

TEST_P(Conformance, one_long_read_has_every_byte) {
  const std::size_t size = 500 * unit_bytes();
  const auto file = make_file(size);
  const AlignedMemory memory(size);
  const auto bytes = run_one(read_operation(*file, 0, memory.bytes(), 5));
  ASSERT_TRUE(bytes) << bytes.error().message();
  EXPECT_EQ(*bytes, size);
  EXPECT_EQ(matching_pattern(memory.bytes(), 0), size);
}

TEST_P(Conformance, read_across_the_end_is_short) {
  const auto file = make_file(2 * unit_bytes() + 100);
  const AlignedMemory memory(8 * unit_bytes());
  EXPECT_EQ(bytes_moved(read_operation(*file, unit_bytes(), memory.bytes(), 1)),
            unit_bytes() + 100);
  EXPECT_EQ(matching_pattern(memory.bytes().first(unit_bytes() + 100), unit_bytes()),
            unit_bytes() + 100);
  EXPECT_EQ(bytes_moved(read_operation(*file, 2 * unit_bytes(), memory.bytes(), 1)), 100U);
  EXPECT_EQ(bytes_moved(read_operation(*file, 3 * unit_bytes(), memory.bytes(), 1)), 0U);
  EXPECT_EQ(bytes_moved(read_operation(*file, 3000 * unit_bytes(), memory.bytes(), 1)), 0U);
}

TEST_P(Conformance, empty_file_and_empty_reads_give_nothing) {
  const auto empty = make_file(0);
  const auto file = make_file(unit_bytes());
  const AlignedMemory memory(unit_bytes());
  EXPECT_EQ(bytes_moved(read_operation(*empty, 0, memory.bytes(), 1)), 0U);
  EXPECT_EQ(bytes_moved(read_operation(*file, 0, {}, 2)), 0U);
}

TEST_P(Conformance, written_bytes_are_read_back) {
  constexpr std::size_t kPieces = 20;
  const auto file = make_file(0, Intent::kWrite);
  const AlignedMemory from(kPieces * unit_bytes());
  fill_pattern(from.bytes(), 0);
  const auto allocated = run_one(allocate_operation(*file, {0, kPieces * unit_bytes()}, 1));
  ASSERT_TRUE(allocated) << allocated.error().message();
  EXPECT_EQ(*file->size(), kPieces * unit_bytes());
  std::vector<Operation> writes;
  for (std::uint64_t piece = 0; piece < kPieces; ++piece) {
    const std::uint64_t offset = piece * unit_bytes();
    writes.push_back(
        write_operation(*file, offset, from.bytes().subspan(offset, unit_bytes()), piece));
  }
  for (const auto& [piece, bytes] : run(writes)) {
    ASSERT_TRUE(bytes) << bytes.error().message();
    EXPECT_EQ(*bytes, unit_bytes()) << "piece " << piece;
  }
  EXPECT_EQ(bytes_moved(sync_operation(*file, 99)), 0U);
  EXPECT_EQ(bytes_moved(write_operation(*file, 0, {}, 100)), 0U);
  EXPECT_EQ(bytes_moved(allocate_operation(*file, {0, 0}, 101)), 0U);
  const AlignedMemory into(kPieces * unit_bytes());
  EXPECT_EQ(bytes_moved(read_operation(*file, 0, into.bytes(), 102)), kPieces * unit_bytes());
  EXPECT_EQ(matching_pattern(into.bytes(), 0), kPieces * unit_bytes());
}

TEST_P(Conformance, accepts_at_most_its_capacity) {
  const auto file = make_file(3 * kQueueDepth * unit_bytes());
  const AlignedMemory memory(3 * kQueueDepth * unit_bytes());
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

TEST_P(Conformance, enqueued_operations_start_with_the_next_wait) {
  constexpr std::size_t kUnits = 200;
  const auto file = make_file(kUnits * unit_bytes());
  const AlignedMemory memory(kUnits * unit_bytes());
  const auto reads = reads_of_units(*file, memory.bytes());
  std::span<const Operation> left = reads;
  std::size_t done = 0;
  const TimePoint deadline = SteadyClock::shared().now() + kTestTimeout;
  while (done < kUnits && SteadyClock::shared().now() < deadline) {
    // Three for each awaited one: some waits find completions that arrived with another.
    left = left.subspan(engine().enqueue(left.first(std::min<std::size_t>(3, left.size()))));
    Completion one;
    done += engine().wait({&one, 1}, deadline);
  }
  EXPECT_EQ(done, kUnits);
  EXPECT_EQ(engine().in_flight(), 0U);
  EXPECT_EQ(matching_pattern(memory.bytes(), 0), kUnits * unit_bytes());
}

TEST_P(Conformance, two_files_are_not_mixed_up) {
  const auto first = make_file(10 * unit_bytes());
  const auto second = make_file(3 * unit_bytes());
  const AlignedMemory memory(8 * unit_bytes());
  const auto half = [&](std::size_t which) {
    return memory.bytes().subspan(which * 4 * unit_bytes(), 4 * unit_bytes());
  };
  const std::array<Operation, 2> reads{read_operation(*first, unit_bytes(), half(0), 1),
                                       read_operation(*second, unit_bytes(), half(1), 2)};
  const auto outcomes = run(reads);
  EXPECT_EQ(outcomes.at(1).value(), 4 * unit_bytes());
  EXPECT_EQ(outcomes.at(2).value(), 2 * unit_bytes());
}

TEST_P(Conformance, failed_operation_does_not_affect_others) {
  const auto good = make_file(4 * unit_bytes());
  std::unique_ptr<File> bad = make_file(4 * unit_bytes(), Intent::kRead);
  if (file_kind() == FileKind::kMemory) {  // has no permissions: inject a fault
    bad = std::make_unique<FaultyFile>(std::move(bad), FileFaults{.bad_offset = 2 * unit_bytes()});
  }
  const AlignedMemory memory(3 * unit_bytes());
  const auto piece = [&](std::size_t which) {
    return memory.bytes().subspan(which * unit_bytes(), unit_bytes());
  };
  const std::array<Operation, 3> operations{
      read_operation(*good, 0, piece(0), 1),
      write_operation(*bad, 2 * unit_bytes(), piece(1), 2),
      read_operation(*good, 2 * unit_bytes(), piece(2), 3),
  };
  const auto outcomes = run(operations);
  EXPECT_EQ(outcomes.at(1).value(), unit_bytes());
  EXPECT_EQ(outcomes.at(3).value(), unit_bytes());
  ASSERT_FALSE(outcomes.at(2));
  const Error& error = outcomes.at(2).error();
  EXPECT_EQ(error.operation(), "write");
  EXPECT_EQ(error.path(), bad->path());
  EXPECT_EQ(error.offset_bytes(), 2 * unit_bytes());
  EXPECT_EQ(error.error_number(), file_kind() == FileKind::kMemory ? EIO : EBADF);
}

TEST_P(Conformance, file_that_shrank_gives_a_short_read) {
  const auto file = make_file(10 * unit_bytes(), Intent::kWrite);
  const AlignedMemory memory(10 * unit_bytes());
  EXPECT_EQ(bytes_moved(read_operation(*file, 0, memory.bytes(), 1)), 10 * unit_bytes());
  ASSERT_TRUE(file->truncate(3 * unit_bytes() + 5));
  EXPECT_EQ(bytes_moved(read_operation(*file, 0, memory.bytes(), 1)), 3 * unit_bytes() + 5);
}

TEST_P(Conformance, file_that_grew_gives_the_new_bytes) {
  const auto file = make_file(unit_bytes(), Intent::kWrite);
  const AlignedMemory memory(2 * unit_bytes());
  EXPECT_EQ(bytes_moved(read_operation(*file, 0, memory.bytes(), 1)), unit_bytes());
  ASSERT_TRUE(file->truncate(2 * unit_bytes()));
  EXPECT_EQ(bytes_moved(read_operation(*file, 0, memory.bytes(), 1)), 2 * unit_bytes());
  EXPECT_EQ(matching_pattern(memory.bytes().first(unit_bytes()), 0), unit_bytes());
  EXPECT_EQ(memory.bytes()[unit_bytes()], std::byte{0});
}

TEST_P(Conformance, registered_buffers_get_the_same_bytes) {
  constexpr std::size_t kPieces = 10;
  const auto pool = BufferPool::create({.buffer_bytes = kPieces * 4096, .count = 1});
  ASSERT_TRUE(pool);
  // A memlock limit may refuse it; transfers must work either way, and with memory outside of it,
  // too.
  std::ignore = engine().register_buffers((*pool)->arena());
  const auto file = make_file(kPieces * unit_bytes());
  const AlignedMemory outside(kPieces * unit_bytes());
  const std::span<std::byte> inside = (*pool)->arena().first(kPieces * unit_bytes());
  const std::array<Operation, 2> reads{read_operation(*file, 0, inside, 1),
                                       read_operation(*file, 0, outside.bytes(), 2)};
  const auto outcomes = run(reads);
  EXPECT_EQ(outcomes.at(1).value(), kPieces * unit_bytes());
  EXPECT_EQ(outcomes.at(2).value(), kPieces * unit_bytes());
  EXPECT_EQ(matching_pattern(inside, 0), kPieces * unit_bytes());
  EXPECT_EQ(matching_pattern(outside.bytes(), 0), kPieces * unit_bytes());
  engine().unregister_buffers((*pool)->arena());
}

TEST_P(Conformance, buffers_are_registered_while_others_are_in_flight) {
  constexpr std::size_t kPieces = 4;
  const auto make_pool = [] {
    return BufferPool::create({.buffer_bytes = kPieces * 4096, .count = 2}).value();
  };
  const auto file = make_file(kPieces * unit_bytes());
  const auto staying = make_pool();
  std::ignore = engine().register_buffers(staying->arena());
  const std::span<std::byte> stays = staying->arena().first(kPieces * unit_bytes());
  std::array<Completion, 4> completions;
  for (int round = 0; round < 300; ++round) {
    const Operation read = read_operation(*file, 0, stays, 1);
    ASSERT_EQ(engine().submit({&read, 1}), 1U);
    const auto passing = make_pool();
    std::ignore = engine().register_buffers(passing->arena());
    const std::span<std::byte> passes = passing->arena().last(kPieces * unit_bytes());
    const Operation other = read_operation(*file, 0, passes, 2);
    ASSERT_EQ(engine().submit({&other, 1}), 1U);
    while (engine().in_flight() > 0)
      engine().wait(completions, std::nullopt);
    engine().unregister_buffers(passing->arena());
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
  const auto file = make_file(kReads * unit_bytes());
  const AlignedMemory memory(kReads * unit_bytes());
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

TEST_P(Conformance, destructor_waits_for_operations_in_flight) {
  const auto file = make_file(kQueueDepth * unit_bytes());
  const AlignedMemory memory(kQueueDepth * unit_bytes());
  EXPECT_EQ(engine().submit(reads_of_units(*file, memory.bytes())), kQueueDepth);
  destroy_engine();  // file and memory still exist
}

/// Failing offsets, under all other faults: exactly the transfers that touch them fail.
TEST_P(Conformance, bad_offsets_fail_their_transfers_and_no_others) {
  constexpr std::size_t kPieces = 16;
  const auto file = make_file(kPieces * unit_bytes());
  const AlignedMemory memory(kPieces * unit_bytes());
  FaultPlan plan = GetParam().faults.value_or(FaultPlan{});
  plan.bad_offsets = {3 * unit_bytes() + 1, 8 * unit_bytes()};
  make_engine(plan);
  for (const auto& [piece, bytes] : run(reads_of_units(*file, memory.bytes()))) {
    const bool is_bad = piece == 3 || piece == 8;
    EXPECT_EQ(bytes.has_value(), !is_bad) << "piece " << piece;
    if (is_bad) {
      EXPECT_EQ(bytes.error().kind(), ErrorClass::kIo);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sound, Conformance, ::testing::ValuesIn(fault_free_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Faulty, Conformance, ::testing::ValuesIn(faulty_cases()), case_name);

}  // namespace
}  // namespace forebay::storage
