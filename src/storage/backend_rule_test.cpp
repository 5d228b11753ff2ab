// SPDX-License-Identifier: Apache-2.0
// The rule returns a reason for each backend, and make_backend() follows it.
#include "storage/backend_rule.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr auto kChoices = {BackendChoice::kAuto, BackendChoice::kIoUring, BackendChoice::kThreads,
                           BackendChoice::kAio};

std::string rejection_reason(const BackendDecision& decision, std::string_view name) {
  for (const RejectedBackend& other : decision.rejected) {
    if (other.name == name) return other.reason;
  }
  return {};
}

TEST(BackendRule, ring_is_chosen_where_it_works) {
  const auto decision = choose_backend({.is_ring_available = true, .ring_reason = "single issuer"});
  EXPECT_EQ(decision.chosen, "io_uring");
  EXPECT_THAT(decision.reason, HasSubstr("single issuer"));
  EXPECT_THAT(rejection_reason(decision, "aio"), HasSubstr("by name only"));
}

TEST(BackendRule, threads_replace_a_refused_ring_with_the_reason) {
  const auto decision = choose_backend({.ring_reason = "set up io_uring: EPERM"});
  EXPECT_EQ(decision.chosen, "threads");
  EXPECT_EQ(rejection_reason(decision, "io_uring"), "set up io_uring: EPERM");
}

TEST(BackendRule, buffered_access_always_uses_threads) {
  for (const BackendChoice wanted : kChoices) {
    const auto decision = choose_backend({.requested = wanted,
                                          .access = Access::kBuffered,
                                          .is_ring_available = true,
                                          .ring_reason = "x"});
    EXPECT_EQ(decision.chosen, "threads") << name_of(wanted);
  }
}

TEST(BackendRule, refused_ring_by_name_chooses_no_backend) {
  const auto decision =
      choose_backend({.requested = BackendChoice::kIoUring, .ring_reason = "no such call"});
  EXPECT_EQ(decision.chosen, "");
  EXPECT_EQ(rejection_reason(decision, "io_uring"), "no such call");
}

/// The chosen and the rejected backends, each of which must have a reason.
std::vector<std::string> names_in(const BackendDecision& decision) {
  EXPECT_FALSE(decision.reason.empty());
  std::vector<std::string> names;
  if (!decision.chosen.empty()) names.push_back(decision.chosen);
  for (const RejectedBackend& other : decision.rejected) {
    EXPECT_FALSE(other.reason.empty()) << other.name;
    names.push_back(other.name);
  }
  return names;
}

TEST(BackendRule, each_backend_is_chosen_or_has_its_reason_once) {
  const auto all_three = UnorderedElementsAre("aio", "io_uring", "threads");
  for (const BackendChoice wanted : kChoices) {
    BackendFacts facts{.requested = wanted, .is_ring_available = true, .ring_reason = "because"};
    EXPECT_THAT(names_in(choose_backend(facts)), all_three);
    facts.is_ring_available = false;
    EXPECT_THAT(names_in(choose_backend(facts)), all_three);
    facts.access = Access::kBuffered;
    EXPECT_THAT(names_in(choose_backend(facts)), all_three);
  }
}

/// True with and without io_uring: tests/faults also runs it with io_uring refused.
TEST(BackendRule, make_backend_follows_the_rule) {
  const BackendProbe found = probe_backends();
  for (const BackendChoice wanted : kChoices) {
    const auto decision = choose_backend({.requested = wanted,
                                          .is_ring_available = found.is_ring_available,
                                          .ring_reason = found.ring_reason});
    const auto made = make_backend({.choice = wanted, .queue_depth = 1, .worker_count = 1});
    EXPECT_EQ(made ? (*made)->name() : "", decision.chosen) << name_of(wanted);
  }
}

}  // namespace
}  // namespace forebay::storage
