// SPDX-License-Identifier: Apache-2.0
// A pinned thread, and threads that it starts, stay on the core; the affinity is restored
// afterwards.
#include "bench/frame/cpu_affinity.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace forebay::bench {
namespace {

using Cores = std::vector<unsigned>;

TEST(ScopedAffinity, pins_this_thread_and_restores_its_affinity) {
  const Cores before = usable_cores();
  ASSERT_FALSE(before.empty());
  {
    const auto pinned = ScopedAffinity::pin(before.back());
    ASSERT_TRUE(pinned) << pinned.error().message();
    EXPECT_EQ(usable_cores(), Cores{before.back()});
  }
  EXPECT_EQ(usable_cores(), before);
}

TEST(ScopedAffinity, threads_started_meanwhile_are_pinned_too) {
  const Cores before = usable_cores();
  ASSERT_FALSE(before.empty());
  Cores of_thread;
  {
    const auto pinned = ScopedAffinity::pin(before.back());
    ASSERT_TRUE(pinned) << pinned.error().message();
    std::thread([&] { of_thread = usable_cores(); }).join();
  }
  EXPECT_EQ(of_thread, Cores{before.back()});
}

TEST(ScopedAffinity, missing_core_fails) {
  const Cores before = usable_cores();
  for (const unsigned core : {unsigned{CPU_SETSIZE - 1}, unsigned{CPU_SETSIZE}})
    EXPECT_FALSE(ScopedAffinity::pin(core));
  EXPECT_EQ(usable_cores(), before);
}

}  // namespace
}  // namespace forebay::bench
