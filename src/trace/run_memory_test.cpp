// SPDX-License-Identifier: Apache-2.0
#include "trace/run_memory.hpp"

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::trace {
namespace {

TEST(RunOpenQueueTest, entries_arrive_once_and_in_order_of_each_producer) {
  const auto queue = std::make_unique<RunOpenQueue>();
  queue->initialize();
  constexpr std::uint32_t kProducers = 4;
  constexpr std::uint16_t kEach = 5000;
  std::vector<std::thread> producers;
  for (std::uint32_t producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      for (std::uint16_t i = 0; i < kEach;) {
        const bool is_pushed = queue->push([&](RunOpen& open) {
          open.process = producer;
          open.file = i;
        });
        is_pushed ? static_cast<void>(++i) : std::this_thread::yield();
      }
    });
  }
  std::array<std::uint16_t, kProducers> next{};
  for (std::uint32_t count = 0; count < kProducers * kEach;) {
    const RunOpen* const open = queue->front();
    if (open == nullptr) continue;
    ASSERT_EQ(open->file, next.at(open->process));
    ++next.at(open->process);
    queue->pop();
    ++count;
  }
  for (std::thread& producer : producers)
    producer.join();
  EXPECT_EQ(queue->front(), nullptr);
  EXPECT_FALSE(queue->is_incomplete());
}

TEST(RunOpenQueueTest, entry_that_is_filled_after_it_was_skipped_is_dropped) {
  const auto queue = std::make_unique<RunOpenQueue>();
  queue->initialize();
  EXPECT_FALSE(queue->push([&](RunOpen&) {
    EXPECT_TRUE(queue->is_incomplete());
    queue->pop();
  }));
  for (std::size_t i = 0; i < 2 * RunOpenQueue::kEntries; ++i) {
    ASSERT_TRUE(queue->push([](RunOpen& open) { open.file = 7; }));
    ASSERT_NE(queue->front(), nullptr);
    queue->pop();
  }
}

TEST(RunOpenQueueTest, full_queue_refuses) {
  const auto queue = std::make_unique<RunOpenQueue>();
  queue->initialize();
  const auto push = [&] { return queue->push([](RunOpen& open) { open.file = 1; }); };
  for (std::size_t i = 0; i < RunOpenQueue::kEntries; ++i)
    EXPECT_TRUE(push());
  EXPECT_FALSE(push());
  queue->pop();
  EXPECT_TRUE(push());
}

TEST(RunOpenQueueTest, damaged_queue_refuses) {
  const auto queue = std::make_unique<RunOpenQueue>();
  queue->initialize();
  std::memset(static_cast<void*>(queue.get()), 0xff, sizeof *queue);
  std::memset(static_cast<void*>(queue.get()), 0, sizeof(std::uint64_t));  // its head
  EXPECT_FALSE(queue->push([](RunOpen&) {}));
}

}  // namespace
}  // namespace forebay::trace
