// SPDX-License-Identifier: Apache-2.0
// Whether a thread, and what it starts, stays where it was put, and is free again afterwards.
#include "bench/frame/cores.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace forebay::bench {
namespace {

using Cores = std::vector<unsigned>;

TEST(OnCore, keeps_this_thread_on_the_core_and_gives_the_others_back) {
  const Cores before = usable_cores();
  ASSERT_FALSE(before.empty());
  {
    const auto pinned = OnCore::take(before.back());
    ASSERT_TRUE(pinned) << pinned.error().message();
    EXPECT_EQ(usable_cores(), Cores{before.back()});
  }
  EXPECT_EQ(usable_cores(), before);
}

TEST(OnCore, keeps_threads_that_are_started_meanwhile_there_too) {
  const Cores before = usable_cores();
  ASSERT_FALSE(before.empty());
  Cores of_thread;
  {
    const auto pinned = OnCore::take(before.back());
    ASSERT_TRUE(pinned) << pinned.error().message();
    std::thread([&] { of_thread = usable_cores(); }).join();
  }
  EXPECT_EQ(of_thread, Cores{before.back()});
}

TEST(OnCore, refuses_a_core_that_there_is_not) {
  const Cores before = usable_cores();
  for (const unsigned core : {unsigned{CPU_SETSIZE - 1}, unsigned{CPU_SETSIZE}})
    EXPECT_FALSE(OnCore::take(core));
  EXPECT_EQ(usable_cores(), before);
}

}  // namespace
}  // namespace forebay::bench
