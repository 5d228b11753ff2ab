// SPDX-License-Identifier: Apache-2.0
#include "base/service_thread.hpp"

#include <array>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include "base/processors.hpp"

namespace forebay {
namespace {

TEST(ServiceThread, takes_no_signals_and_has_a_name) {
  sigset_t blocked;
  ::sigemptyset(&blocked);
  std::array<char, 16> name{};
  auto thread = start_service_thread("forebay-test", [&] {
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
  });
  ASSERT_TRUE(thread) << thread.error().message();
  thread->join();
  for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD})
    EXPECT_EQ(::sigismember(&blocked, signal), 1) << signal;
  EXPECT_EQ(std::string(name.data()), "forebay-test");
}

TEST(ServiceThread, the_starter_keeps_its_signals) {
  auto thread = start_service_thread("forebay-test", [] {});
  ASSERT_TRUE(thread) << thread.error().message();
  thread->join();
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  EXPECT_EQ(::sigismember(&blocked, SIGTERM), 0);
}

TEST(ServiceThread, one_that_interrupts_nobody_says_so_to_the_system) {
  const int before = ::sched_getscheduler(0);
  if (before != SCHED_OTHER) GTEST_SKIP() << "this program runs by policy " << before;
  int policy = -1;
  auto thread = start_service_thread("forebay-test", [&] {
    interrupt_nobody();
    policy = ::sched_getscheduler(0);
  });
  ASSERT_TRUE(thread) << thread.error().message();
  thread->join();
  EXPECT_EQ(policy, SCHED_BATCH);
  EXPECT_EQ(::sched_getscheduler(0), SCHED_OTHER) << "of the others nothing changes";
}

/// Where a service thread may run whose starter is bound to one processor.
std::vector<int> place_beside_a_bound_thread() {
  std::vector<int> place;
  std::thread([&] {
    run_this_thread_on({processors_at_start().front()});
    auto thread =
        start_service_thread("forebay-test", [&] { place = processors_of_this_thread(); });
    if (thread) thread->join();
  }).join();
  return place;
}

TEST(ServiceThread, runs_where_the_user_says) {
  const std::vector<int> all = processors_at_start();
  if (all.size() < 2) GTEST_SKIP() << "this process has one processor";
  EXPECT_EQ(place_beside_a_bound_thread(), std::vector{all.front()});
  EXPECT_TRUE(set_service_processors({all.back()}));
  EXPECT_EQ(place_beside_a_bound_thread(), std::vector{all.back()});
  EXPECT_FALSE(set_service_processors({CPU_SETSIZE - 1})) << "this machine has no such";
  EXPECT_EQ(place_beside_a_bound_thread(), std::vector{all.back()});
  EXPECT_EQ(processors_of_this_thread(), all) << "the caller stays where it was";
  EXPECT_TRUE(set_service_processors({}));
  EXPECT_EQ(place_beside_a_bound_thread(), std::vector{all.front()});
}

}  // namespace
}  // namespace forebay
