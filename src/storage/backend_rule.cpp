// SPDX-License-Identifier: Apache-2.0
// The rule as a table of reasons: one function for each way in which it may go.
#include "storage/backend_rule.hpp"

#include <utility>

namespace forebay::storage {

namespace {

constexpr const char* kRing = "ring";
constexpr const char* kThreads = "threads";
constexpr const char* kAio = "aio";

BackendDecision for_page_cache() {
  return {.chosen = kThreads,
          .reason = "copying from or into the page cache is work for a processor, not waiting",
          .others = {{kRing,
                      "would copy on the thread that submits, and write a file's pages one "
                      "after the other"},
                     {kAio, "has one thread for each file"}}};
}

BackendDecision by_itself(const BackendFacts& facts) {
  PassedOver aio{kAio, "is for comparing: one transfer of a file at a time; by name alone"};
  if (facts.ring_works) {
    return {
        .chosen = kRing,
        .reason = "io_uring works here (" + facts.ring_reason + ")",
        .others = {{kThreads, "stand in where io_uring is refused, or by name"}, std::move(aio)}};
  }
  return {.chosen = kThreads,
          .reason = "they work everywhere",
          .others = {{kRing, facts.ring_reason}, std::move(aio)}};
}

BackendDecision by_name(const BackendFacts& facts) {
  const std::string wanted(name_of(facts.wanted));
  BackendDecision decision{.chosen = wanted, .reason = "asked for by name", .others = {}};
  for (const char* const name : {kRing, kThreads, kAio}) {
    if (name == wanted) continue;
    decision.others.push_back({name, "the setting engine asks for " + wanted});
  }
  if (facts.wanted != BackendChoice::kRing || facts.ring_works) return decision;
  decision.chosen.clear();
  decision.reason = "the setting engine allows the ring alone, which does not work here";
  decision.others.insert(decision.others.begin(), {kRing, facts.ring_reason});
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
  if (facts.access == Access::kBuffered) return for_page_cache();
  return facts.wanted == BackendChoice::kAuto ? by_itself(facts) : by_name(facts);
}

}  // namespace forebay::storage
