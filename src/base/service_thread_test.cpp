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

TEST(ServiceThread, blocks_signals_and_has_a_name) {
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

TEST(ServiceThread, starter_keeps_its_signal_mask) {
  auto thread = start_service_thread("forebay-test", [] {});
  ASSERT_TRUE(thread) << thread.error().message();
  thread->join();
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  EXPECT_EQ(::sigismember(&blocked, SIGTERM), 0);
}

TEST(ServiceThread, batch_scheduling_sets_its_policy_for_one_thread) {
  const int before = ::sched_getscheduler(0);
  if (before != SCHED_OTHER) GTEST_SKIP() << "this program runs with scheduling policy " << before;
  int policy = -1;
  auto thread = start_service_thread("forebay-test", [&] {
    use_batch_scheduling();
    policy = ::sched_getscheduler(0);
  });
  ASSERT_TRUE(thread) << thread.error().message();
  thread->join();
  EXPECT_EQ(policy, SCHED_BATCH);
  EXPECT_EQ(::sched_getscheduler(0), SCHED_OTHER) << "other threads keep their policy";
}

/// Affinity of a service thread whose starter is bound to one processor.
std::vector<int> service_thread_affinity() {
  std::vector<int> place;
  std::thread([&] {
    set_thread_affinity({initial_affinity().front()});
    auto thread = start_service_thread("forebay-test", [&] { place = thread_affinity(); });
    if (thread) thread->join();
  }).join();
  return place;
}

TEST(ServiceThread, runs_on_the_set_processors) {
  const std::vector<int> allowed = initial_affinity();
  if (allowed.size() < 2) GTEST_SKIP() << "this process has one processor";
  EXPECT_EQ(service_thread_affinity(), std::vector{allowed.front()});
  EXPECT_TRUE(set_service_processors({allowed.back()}));
  EXPECT_EQ(service_thread_affinity(), std::vector{allowed.back()});
  EXPECT_FALSE(set_service_processors({CPU_SETSIZE - 1})) << "this machine has no such processor";
  EXPECT_EQ(service_thread_affinity(), std::vector{allowed.back()});
  EXPECT_EQ(thread_affinity(), allowed) << "the caller keeps its affinity";
  EXPECT_TRUE(set_service_processors({}));
  EXPECT_EQ(service_thread_affinity(), std::vector{allowed.front()});
}

}  // namespace
}  // namespace forebay
