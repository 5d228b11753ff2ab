// SPDX-License-Identifier: Apache-2.0
// Where a thread that copies should run beside threads that compute: on cores of its own, near
// them, and never outside of what the process was given.
#include "base/processors.hpp"

#include <algorithm>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace forebay {
namespace {

/// Two nodes of four cores with two hardware threads each; number = thread * 8 + core.
std::vector<Processor> a_machine() {
  std::vector<Processor> machine;
  for (int number = 0; number < 16; ++number)
    machine.push_back({.number = number, .core = number % 8, .node = number % 8 / 4});
  return machine;
}

std::vector<int> all_of_it() {
  std::vector<int> numbers;
  for (int number = 0; number < 16; ++number)
    numbers.push_back(number);
  return numbers;
}

using Numbers = std::vector<int>;

TEST(Processors, other_cores_of_the_same_node_come_first) {
  EXPECT_EQ(processors_apart(a_machine(), all_of_it(), {0}), (Numbers{1, 2, 3, 9, 10, 11}));
  EXPECT_EQ(processors_apart(a_machine(), all_of_it(), {5, 13}), (Numbers{4, 6, 7, 12, 14, 15}));
}

TEST(Processors, a_node_that_is_taken_leaves_the_other_one) {
  EXPECT_EQ(processors_apart(a_machine(), all_of_it(), {0, 1, 2, 3}),
            (Numbers{4, 5, 6, 7, 12, 13, 14, 15}));
}

TEST(Processors, the_second_thread_of_a_core_is_better_than_nothing) {
  EXPECT_EQ(processors_apart(a_machine(), {0, 8}, {0}), (Numbers{8}));
}

TEST(Processors, what_the_process_was_not_given_is_left_alone) {
  EXPECT_EQ(processors_apart(a_machine(), {0, 4}, {0}), (Numbers{4}));
  EXPECT_TRUE(processors_apart(a_machine(), {0, 1}, {0, 1}).empty());
  EXPECT_TRUE(processors_apart(a_machine(), {0}, {0}).empty());
}

TEST(Processors, an_unknown_machine_has_no_better_place) {
  EXPECT_TRUE(processors_apart({}, {0, 1}, {0}).empty());
}

TEST(Processors, whatever_is_chosen_is_allowed_and_not_taken) {
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
    const Numbers chosen = processors_apart(a_machine(), allowed, bound);
    ASSERT_TRUE(std::ranges::is_sorted(chosen));
    ASSERT_TRUE(std::ranges::includes(allowed, chosen));
    for (const int number : chosen)
      ASSERT_FALSE(std::ranges::binary_search(bound, number));
    Numbers left;
    std::ranges::set_difference(allowed, bound, std::back_inserter(left));
    ASSERT_EQ(chosen.empty(), left.empty());
  }
}

TEST(Processors, those_of_this_machine_hold_those_of_this_process) {
  Numbers machine;
  for (const Processor& processor : processors_of_machine())
    machine.push_back(processor.number);
  EXPECT_FALSE(processors_at_start().empty());
  EXPECT_TRUE(std::ranges::includes(machine, processors_at_start()));
}

TEST(Processors, a_thread_runs_where_it_is_told) {
  std::thread([] {
    const int last = processors_at_start().back();
    run_this_thread_on({last});
    EXPECT_EQ(processors_of_this_thread(), (Numbers{last}));
    run_this_thread_on({});
    EXPECT_EQ(processors_of_this_thread(), (Numbers{last}));
  }).join();
}

}  // namespace
}  // namespace forebay
