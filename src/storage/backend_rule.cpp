// SPDX-License-Identifier: Apache-2.0
// The rule as a table of reasons: one function for each kind of choice.
#include "storage/backend_rule.hpp"

#include <utility>

namespace forebay::storage {

namespace {

constexpr const char* kRing = "ring";
constexpr const char* kThreads = "threads";
constexpr const char* kAio = "aio";

BackendDecision choose_for_page_cache() {
  return {.chosen = kThreads,
          .reason = "page cache copies use processors, not a device queue",
          .rejected = {{kRing,
                        "would copy on the submitting thread, and execute a file's writes one "
                        "after the other"},
                       {kAio, "has one thread for each file"}}};
}

BackendDecision choose_automatically(const BackendFacts& facts) {
  RejectedBackend aio{kAio,
                      "for comparison only: one transfer of a file at a time; used by name only"};
  if (facts.is_ring_available) {
    return {.chosen = kRing,
            .reason = "io_uring works here (" + facts.ring_reason + ")",
            .rejected = {{kThreads, "used if io_uring is refused, or by name"}, std::move(aio)}};
  }
  return {.chosen = kThreads,
          .reason = "works everywhere",
          .rejected = {{kRing, facts.ring_reason}, std::move(aio)}};
}

BackendDecision choose_named(const BackendFacts& facts) {
  const std::string wanted(name_of(facts.requested));
  BackendDecision decision{.chosen = wanted, .reason = "requested by name", .rejected = {}};
  for (const char* const name : {kRing, kThreads, kAio}) {
    if (name == wanted) continue;
    decision.rejected.push_back({name, "the setting engine requests " + wanted});
  }
  if (facts.requested != BackendChoice::kRing || facts.is_ring_available) return decision;
  decision.chosen.clear();
  decision.reason = "the setting engine allows only the ring, which does not work here";
  decision.rejected.insert(decision.rejected.begin(), {kRing, facts.ring_reason});
  return decision;
}

}  // namespace

std::string_view name_of(BackendChoice choice) noexcept {
  switch (choice) {
    case BackendChoice::kAuto:
      return "auto";
    case BackendChoice::kRing:
      return kRing;
    case BackendChoice::kThreads:
      return kThreads;
    case BackendChoice::kAio:
      return kAio;
  }
  return "unknown";
}

BackendDecision choose_backend(const BackendFacts& facts) {
  if (facts.access == Access::kBuffered) return choose_for_page_cache();
  return facts.requested == BackendChoice::kAuto ? choose_automatically(facts)
                                                 : choose_named(facts);
}

}  // namespace forebay::storage
