// SPDX-License-Identifier: Apache-2.0
// The rule as a table of reasons: one function for each kind of choice.
#include "storage/backend_rule.hpp"

#include <utility>

namespace forebay::storage {

namespace {

constexpr const char* kIoUring = "io_uring";
constexpr const char* kThreads = "threads";
constexpr const char* kAio = "aio";

BackendDecision choose_for_page_cache() {
  return {.chosen = kThreads,
          .reason = "page cache copies use processors, not a device queue",
          .rejected = {{kIoUring,
                        "would copy on the submitting thread, and execute a file's writes one "
                        "after the other"},
                       {kAio, "has one thread for each file"}}};
}

BackendDecision choose_automatically(const BackendFacts& facts) {
  RejectedBackend aio{kAio,
                      "for comparison only: one transfer of a file at a time; used by name only"};
  if (facts.is_ring_available) {
    return {.chosen = kIoUring,
            .reason = "io_uring works here (" + facts.ring_reason + ")",
            .rejected = {{kThreads, "used if io_uring is refused, or by name"}, std::move(aio)}};
  }
  return {.chosen = kThreads,
          .reason = "works everywhere",
          .rejected = {{kIoUring, facts.ring_reason}, std::move(aio)}};
}

BackendDecision choose_named(const BackendFacts& facts) {
  const std::string wanted(name_of(facts.requested));
  BackendDecision decision{.chosen = wanted, .reason = "requested by name", .rejected = {}};
  for (const char* const name : {kIoUring, kThreads, kAio}) {
    if (name == wanted) continue;
    decision.rejected.push_back({name, "the setting backend requests " + wanted});
  }
  if (facts.requested != BackendChoice::kIoUring || facts.is_ring_available) return decision;
  decision.chosen.clear();
  decision.reason = "the setting backend allows only io_uring, which does not work here";
  decision.rejected.insert(decision.rejected.begin(), {kIoUring, facts.ring_reason});
  return decision;
}

}  // namespace

BackendDecision choose_backend(const BackendFacts& facts) {
  if (facts.access == Access::kBuffered) return choose_for_page_cache();
  return facts.requested == BackendChoice::kAuto ? choose_automatically(facts)
                                                 : choose_named(facts);
}

}  // namespace forebay::storage
