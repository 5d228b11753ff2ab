// SPDX-License-Identifier: Apache-2.0
// The rule says for each backend why it was chosen or not, and make_backend() does what it says.
#include "storage/backend_rule.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr auto kChoices = {BackendChoice::kAuto, BackendChoice::kRing, BackendChoice::kThreads,
                           BackendChoice::kAio};

std::string reason_against(const BackendDecision& decision, std::string_view name) {
  for (const PassedOver& other : decision.others) {
    if (other.name == name) return other.reason;
  }
  return {};
}

TEST(BackendRule, ring_is_chosen_where_it_works) {
  const auto decision = choose_backend({.ring_works = true, .ring_reason = "single issuer"});
  EXPECT_EQ(decision.chosen, "ring");
  EXPECT_THAT(decision.reason, HasSubstr("single issuer"));
  EXPECT_THAT(reason_against(decision, "aio"), HasSubstr("by name alone"));
}

TEST(BackendRule, threads_stand_in_and_the_refusal_is_told) {
  const auto decision = choose_backend({.ring_reason = "set up io_uring: EPERM"});
  EXPECT_EQ(decision.chosen, "threads");
  EXPECT_EQ(reason_against(decision, "ring"), "set up io_uring: EPERM");
}

TEST(BackendRule, page_cache_is_for_threads_whatever_is_asked_for) {
  for (const BackendChoice wanted : kChoices) {
    const auto decision = choose_backend(
        {.wanted = wanted, .access = Access::kBuffered, .ring_works = true, .ring_reason = "x"});
    EXPECT_EQ(decision.chosen, "threads") << name_of(wanted);
  }
}

TEST(BackendRule, ring_by_name_leaves_nothing_where_it_is_refused) {
  const auto decision =
      choose_backend({.wanted = BackendChoice::kRing, .ring_reason = "no such call"});
  EXPECT_EQ(decision.chosen, "");
  EXPECT_EQ(reason_against(decision, "ring"), "no such call");
}

/// All that were chosen or not, each of which must have a reason.
std::vector<std::string> names_in(const BackendDecision& decision) {
  EXPECT_FALSE(decision.reason.empty());
  std::vector<std::string> names;
  if (!decision.chosen.empty()) names.push_back(decision.chosen);
  for (const PassedOver& other : decision.others) {
    EXPECT_FALSE(other.reason.empty()) << other.name;
    names.push_back(other.name);
  }
  return names;
}

TEST(BackendRule, each_backend_is_chosen_or_has_its_reason_once) {
  const auto all_three = UnorderedElementsAre("aio", "ring", "threads");
  for (const BackendChoice wanted : kChoices) {
    BackendFacts facts{.wanted = wanted, .ring_works = true, .ring_reason = "because"};
    EXPECT_THAT(names_in(choose_backend(facts)), all_three);
    facts.ring_works = false;
    EXPECT_THAT(names_in(choose_backend(facts)), all_three);
    facts.access = Access::kBuffered;
    EXPECT_THAT(names_in(choose_backend(facts)), all_three);
  }
}

/// Holds with and without io_uring: tests/faults runs it once more where that is refused.
TEST(BackendRule, backends_are_made_as_it_says) {
  const BackendProbe found = probe_backends();
  for (const BackendChoice wanted : kChoices) {
    const auto decision = choose_backend(
        {.wanted = wanted, .ring_works = found.ring_works, .ring_reason = found.ring_reason});
    const auto made = make_backend({.choice = wanted, .queue_depth = 1, .worker_count = 1});
    EXPECT_EQ(made ? (*made)->name() : "", decision.chosen) << name_of(wanted);
  }
}

}  // namespace
}  // namespace forebay::storage
