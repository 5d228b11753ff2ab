// SPDX-License-Identifier: Apache-2.0
// Where a copying thread should run beside threads that compute: on other cores, on the same memory
// node, and only where the process may run.
#include "base/processors.hpp"

#include <algorithm>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace forebay {
namespace {

/// Two nodes with four cores of two hardware threads each; number = thread * 8 + core.
std::vector<Processor> sample_machine() {
  std::vector<Processor> machine;
  for (int number = 0; number < 16; ++number)
    machine.push_back({.number = number, .core = number % 8, .node = number % 8 / 4});
  return machine;
}

std::vector<int> all_processors() {
  std::vector<int> numbers;
  for (int number = 0; number < 16; ++number)
    numbers.push_back(number);
  return numbers;
}

using Numbers = std::vector<int>;

TEST(Processors, other_cores_of_the_same_node_come_first) {
  EXPECT_EQ(spare_processors(sample_machine(), all_processors(), {0}),
            (Numbers{1, 2, 3, 9, 10, 11}));
  EXPECT_EQ(spare_processors(sample_machine(), all_processors(), {5, 13}),
            (Numbers{4, 6, 7, 12, 14, 15}));
}

TEST(Processors, fully_bound_node_leaves_the_other_node) {
  EXPECT_EQ(spare_processors(sample_machine(), all_processors(), {0, 1, 2, 3}),
            (Numbers{4, 5, 6, 7, 12, 13, 14, 15}));
}

TEST(Processors, second_hardware_thread_is_used_if_no_core_is_free) {
  EXPECT_EQ(spare_processors(sample_machine(), {0, 8}, {0}), (Numbers{8}));
}

TEST(Processors, processors_outside_the_process_mask_are_not_used) {
  EXPECT_EQ(spare_processors(sample_machine(), {0, 4}, {0}), (Numbers{4}));
  EXPECT_TRUE(spare_processors(sample_machine(), {0, 1}, {0, 1}).empty());
  EXPECT_TRUE(spare_processors(sample_machine(), {0}, {0}).empty());
}

TEST(Processors, unknown_machine_has_no_spare_processors) {
  EXPECT_TRUE(spare_processors({}, {0, 1}, {0}).empty());
}

TEST(Processors, random_results_are_allowed_and_not_bound) {
  std::mt19937 random(3);
  const auto some = [&] {
    Numbers numbers;
    for (int number = 0; number < 16; ++number) {
      if (random() % 3 == 0) numbers.push_back(number);
    }
    return numbers;
  };
  for (int round = 0; round < 10000; ++round) {
    const Numbers allowed = some();
    const Numbers bound = some();
    const Numbers chosen = spare_processors(sample_machine(), allowed, bound);
    ASSERT_TRUE(std::ranges::is_sorted(chosen));
    ASSERT_TRUE(std::ranges::includes(allowed, chosen));
    for (const int number : chosen)
      ASSERT_FALSE(std::ranges::binary_search(bound, number));
    Numbers left;
    std::ranges::set_difference(allowed, bound, std::back_inserter(left));
    ASSERT_EQ(chosen.empty(), left.empty());
  }
}

TEST(Processors, machine_contains_the_processors_of_the_process) {
  Numbers machine;
  for (const Processor& processor : machine_processors())
    machine.push_back(processor.number);
  EXPECT_FALSE(initial_affinity().empty());
  EXPECT_TRUE(std::ranges::includes(machine, initial_affinity()));
}

TEST(Processors, thread_runs_on_its_affinity) {
  std::thread([] {
    const int last = initial_affinity().back();
    set_thread_affinity({last});
    EXPECT_EQ(thread_affinity(), (Numbers{last}));
    set_thread_affinity({});
    EXPECT_EQ(thread_affinity(), (Numbers{last}));
  }).join();
}

}  // namespace
}  // namespace forebay
