// SPDX-License-Identifier: Apache-2.0
// The values of the default plan, each with its source. They were measured on local disks. A
// machine's calibration may replace the values; the rules stay.

#include "read/plan.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace forebay {

namespace {

// 16 requests of 256 KiB kept a local disk busy, whereas requests of 4 to 16 MiB lost a third. A
// splinter is one such request.
constexpr std::uint64_t kSplinterBytes = 256_KiB;
constexpr std::uint64_t kSplinterBytesMin = 4_KiB;
constexpr std::uint64_t kSplinterBytesMax = 16_MiB;
constexpr std::uint32_t kDirectDepth = 16;
// More requests of a few KiB take longer to submit than to complete.
constexpr std::uint64_t kSaturationDepthMax = 256;
// For copies from the page cache, which compete for cores beyond this depth.
constexpr std::uint32_t kBufferedDepth = 4;
constexpr std::uint64_t kBufferedWindowBytes = 1_MiB;
// Copies from the page cache do not overlap with anything, so tasks should find the bytes in a
// core's cache. Two splinters took 0.85 of the time of four, and 0.5 of that of a window of 64 MiB.
constexpr std::uint64_t kCachedSplinters = 2;
constexpr std::uint64_t kDirectWindowBytes = 16_MiB;
// 1 / this of the window is for readahead, the rest for requested bytes.
constexpr std::uint64_t kReadaheadShare = 2;
// Window that reads ahead of a device at full depth; a smaller one leaves it idle at times.
constexpr std::uint64_t kSaturationWindowBytes = kReadaheadShare * kDirectDepth * kSplinterBytes;
// 1 / this of the Runtime's memory is kept for windows of a few splinters. So sessions can still be
// opened after others have taken their preferred size.
constexpr std::uint64_t kReserveShare = 2;
// If the plan sets no budget, the window grows until 1 / this of all memory is left for others.
constexpr std::uint64_t kGrowthReserveShare = 8;
// Unit of on-demand sessions, the page of the File Access Server. Programs that declare nothing
// read small ranges, of which larger splinters would load much that is not needed.
constexpr std::uint64_t kOnDemandSplinterBytes = 64_KiB;
constexpr std::uint64_t kOnDemandWindowBytes = 32_MiB;
constexpr std::uint32_t kOnDemandDepth = 32;
constexpr std::uint32_t kOnDemandDepthMax = 64;
// Keeps the residency table at about 16 MiB, unless the budget requires smaller splinters.
constexpr std::uint64_t kSplintersMax = 1ULL << 20U;
// A plan that sets splinter_bytes may have more splinters, up to a table of 256 MiB. SplinterIndex
// has room for them.
constexpr std::uint64_t kSplintersLimit = 1ULL << 24U;
// Contiguous bytes that one node reads: no splinter is larger.
constexpr std::uint64_t kAgentStripeBytes = kSplinterBytesMax;
// Fewer splinters than this allow no overlap.
constexpr std::uint64_t kSplintersMin = 4;

tl::unexpected<Error> bad_plan(ErrorClass kind, std::string cause) {
  return failure({.kind = kind, .operation = "plan a read session", .cause = std::move(cause)});
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Bytes in flight that keep the storage busy; 0: unknown, or irrelevant.
std::uint64_t saturation_bytes(const ReadFacts& facts) {
  return facts.is_cached ? 0 : facts.request_bytes * facts.queue_depth;
}

std::uint64_t choose_splinter(const ReadFacts& facts, std::uint64_t budget, Mode mode) {
  const bool is_on_demand = mode == Mode::kOnDemand;
  std::uint64_t splinter = is_on_demand ? kOnDemandSplinterBytes : kSplinterBytes;
  if (saturation_bytes(facts) > 0 && !is_on_demand)
    splinter = std::max(splinter, std::bit_floor(facts.request_bytes));
  while (splinter > 64_KiB && splinter * kSplintersMin > facts.extent.size)
    splinter /= 2;
  while (splinter < kSplinterBytesMax && facts.extent.size / splinter > kSplintersMax)
    splinter *= 2;
  while (splinter > kSplinterBytesMin && splinter * kSplintersMin > budget)
    splinter /= 2;
  return std::max(splinter, std::bit_ceil(facts.alignment_bytes));
}

Status check_splinter(const ReadPlan& plan, const ReadFacts& facts) {
  const std::uint64_t splinter = plan.tuning.splinter_bytes;
  if (!std::has_single_bit(splinter) || splinter < kSplinterBytesMin ||
      splinter > kSplinterBytesMax) {
    return bad_plan(ErrorClass::kInvalidArgument, "splinter_bytes is " + std::to_string(splinter) +
                                                      "; it must be a power of two from " +
                                                      std::to_string(kSplinterBytesMin) + " to " +
                                                      std::to_string(kSplinterBytesMax));
  }
  if (facts.extent.size / splinter >= kSplintersLimit) {
    return bad_plan(ErrorClass::kInvalidArgument,
                    "splinter_bytes is " + std::to_string(splinter) + "; a session of " +
                        std::to_string(facts.extent.size) + " bytes would have more than " +
                        std::to_string(kSplintersLimit) + " of them");
  }
  if (plan.access == Access::kDirect && splinter % facts.alignment_bytes != 0) {
    return bad_plan(ErrorClass::kInvalidArgument, "splinter_bytes is " + std::to_string(splinter) +
                                                      "; direct access to this file requires a " +
                                                      "multiple of " +
                                                      std::to_string(facts.alignment_bytes));
  }
  return {};
}

/// The budget of a session without a given one.
std::uint64_t choose_budget(const ReadFacts& facts, std::uint64_t window_bytes) {
  const std::uint64_t reserve = facts.total_bytes / kGrowthReserveShare;
  const std::uint64_t smallest =
      std::min(facts.available_bytes, std::max(window_bytes, kBufferedWindowBytes));
  return std::max(smallest, facts.available_bytes - std::min(facts.available_bytes, reserve));
}

/// The window without limits.
std::uint64_t preferred_window(const ReadPlan& plan, const ReadFacts& facts) {
  if (plan.mode == Mode::kOnDemand) return kOnDemandWindowBytes;
  if (facts.is_cached) return kCachedSplinters * plan.tuning.splinter_bytes;
  const bool direct = plan.access == Access::kDirect;
  return std::max(kReadaheadShare * saturation_bytes(facts),
                  direct ? kDirectWindowBytes : kBufferedWindowBytes);
}

/// The preferred window, if it leaves the reserve and half of the rest for the next session; else
/// one that keeps the storage busy; else a few splinters.
std::uint64_t choose_window(ReadPlan& plan, const ReadFacts& facts) {
  const std::uint64_t preferred = preferred_window(plan, facts);
  const std::uint64_t smallest = std::min(preferred, kSplintersMin * plan.tuning.splinter_bytes);
  const std::uint64_t reserve = std::max(facts.total_bytes, facts.available_bytes) / kReserveShare;
  const std::uint64_t spare = facts.available_bytes - std::min(facts.available_bytes, reserve);
  const std::uint64_t busy =
      std::max(kSaturationWindowBytes, kReadaheadShare * saturation_bytes(facts));
  const std::uint64_t fair = std::max({spare / 2, std::min(spare, busy), smallest});
  if (fair >= preferred) return preferred;
  if (fair > preferred / 2) return fair;  // close enough to need no reason
  plan.reason += "; a small window, because " + std::to_string(facts.available_bytes) +
                 " bytes are left of the Runtime's budget";
  return fair;
}

Status choose_memory(ReadPlan& plan, const ReadFacts& facts, const ReadPlan& requested) {
  const std::uint64_t splinter = plan.tuning.splinter_bytes;
  if (requested.budget_bytes != 0 && requested.budget_bytes < splinter) {
    return bad_plan(ErrorClass::kInvalidArgument,
                    "budget_bytes is " + std::to_string(requested.budget_bytes) +
                        ", less than one splinter of " + std::to_string(splinter) +
                        "; raise it or choose smaller splinters");
  }
  if (facts.available_bytes < splinter) {
    return bad_plan(ErrorClass::kLimit,
                    std::to_string(facts.available_bytes) +
                        " bytes are left of the Runtime's budget, less than one " + "splinter of " +
                        std::to_string(splinter) +
                        "; close other sessions or raise the budget (FOREBAY_BUDGET)");
  }
  const std::uint64_t needed = std::max(splinter, round_up(facts.extent.size, splinter) + splinter);
  plan.budget_bytes =
      std::min({plan.budget_bytes, facts.available_bytes, needed}) / splinter * splinter;
  if (plan.tuning.window_bytes == 0) plan.tuning.window_bytes = choose_window(plan, facts);
  plan.tuning.window_bytes =
      std::clamp(plan.tuning.window_bytes / splinter * splinter, splinter, plan.budget_bytes);
  return {};
}

/// Requests of the plan's size that together keep the storage busy. Larger requests are fewer, but
/// each server gets at least one.
std::uint64_t saturation_requests(const ReadPlan& plan, const ReadFacts& facts) {
  const std::uint64_t needed =
      round_up(saturation_bytes(facts), plan.tuning.request_bytes) / plan.tuning.request_bytes;
  return std::max<std::uint64_t>(needed,
                                 std::min(facts.queue_depth, std::max(facts.stripe_count, 1U)));
}

/// Chooses as many requests as keep a known storage busy, or as memory allows; the reason states
/// which.
void choose_saturation_depth(ReadPlan& plan, const ReadFacts& facts) {
  const std::uint64_t busy = saturation_requests(plan, facts);
  const std::uint64_t room = plan.budget_bytes / plan.tuning.request_bytes;
  const bool fits = busy <= room || plan.budget_bytes >= facts.extent.size;
  const std::uint64_t depth = std::min(fits ? busy : room, kSaturationDepthMax);
  plan.tuning.queue_depth = static_cast<std::uint32_t>(depth);
  plan.reason += "; " + std::to_string(depth) + " requests of " +
                 std::to_string(plan.tuning.request_bytes) + " bytes ";
  if (depth == busy) {
    plan.reason += "keep its storage busy";
  } else {
    plan.reason += depth == kSaturationDepthMax ? "are in flight, the largest number allowed"
                                                : "are all that its budget can hold";
    plan.reason += ", and " + std::to_string(busy) + " would keep its storage busy";
  }
}

void choose_requests(ReadPlan& plan, const ReadFacts& facts) {
  const bool is_on_demand = plan.mode == Mode::kOnDemand;
  const bool known = saturation_bytes(facts) > 0 && !is_on_demand;
  if (!facts.is_cached && !facts.storage_reason.empty()) plan.reason += "; " + facts.storage_reason;
  if (plan.tuning.request_bytes == 0)
    plan.tuning.request_bytes = known ? facts.request_bytes : kSplinterBytes;
  const std::uint64_t smallest = std::max(kSplinterBytesMin, std::bit_ceil(facts.alignment_bytes));
  plan.tuning.request_bytes =
      std::clamp(std::bit_floor(plan.tuning.request_bytes),
                 std::min(smallest, plan.tuning.splinter_bytes), plan.tuning.splinter_bytes);
  if (plan.tuning.queue_depth == 0 && known) choose_saturation_depth(plan, facts);
  // Predicted reads are small: the number of requests keeps the storage busy, not their bytes. Half
  // as many more wait at the servers.
  if (plan.tuning.queue_depth == 0 && is_on_demand)
    plan.tuning.queue_depth = facts.server_requests > 0
                                  ? std::min(facts.server_requests * 3 / 2, kOnDemandDepthMax)
                                  : kOnDemandDepth;
  if (plan.tuning.queue_depth == 0)
    plan.tuning.queue_depth = plan.access == Access::kDirect ? kDirectDepth : kBufferedDepth;
  if (!plan.readahead_bytes)
    plan.readahead_bytes =
        is_on_demand && facts.is_cached ? 0 : plan.tuning.window_bytes / kReadaheadShare;
  *plan.readahead_bytes = std::min(*plan.readahead_bytes, plan.budget_bytes);
}

Status choose_striping(ReadPlan& plan, const ReadFacts& facts) {
  if (plan.tuning.stripe_count > 1 && plan.tuning.stripe_bytes == 0) {
    return bad_plan(ErrorClass::kInvalidArgument, "stripe_count is " +
                                                      std::to_string(plan.tuning.stripe_count) +
                                                      ", and stripe_bytes is 0; set stripe_bytes");
  }
  if (plan.tuning.stripe_count == 0 && !facts.is_cached) {
    plan.tuning.stripe_count = facts.stripe_count;
    plan.tuning.stripe_bytes = facts.stripe_bytes;
  }
  plan.tuning.stripe_count = std::max(plan.tuning.stripe_count, 1U);
  return {};
}

Status choose_nodes(ReadPlan& plan, const ReadFacts& facts) {
  if (plan.tuning.agent_nodes.empty()) return {};
  for (const std::uint32_t node : plan.tuning.agent_nodes) {
    if (node < std::max(facts.linked_nodes, 1U) || facts.linked_nodes <= 1) continue;
    return bad_plan(ErrorClass::kInvalidArgument, "agent_nodes has node " + std::to_string(node) +
                                                      "; there are " +
                                                      std::to_string(facts.linked_nodes));
  }
  if (plan.tuning.agent_stripe_bytes == 0) plan.tuning.agent_stripe_bytes = kAgentStripeBytes;
  if (!std::has_single_bit(plan.tuning.agent_stripe_bytes)) {
    return bad_plan(ErrorClass::kInvalidArgument,
                    "agent_stripe_bytes is " + std::to_string(plan.tuning.agent_stripe_bytes) +
                        "; it must be a power of two");
  }
  // All nodes must compute the same owners, however much memory each has for splinters.
  if (plan.tuning.agent_stripe_bytes < plan.tuning.splinter_bytes) {
    return bad_plan(ErrorClass::kInvalidArgument,
                    "agent_stripe_bytes is " + std::to_string(plan.tuning.agent_stripe_bytes) +
                        ", less than one splinter of " +
                        std::to_string(plan.tuning.splinter_bytes) +
                        "; give splinter_bytes as well");
  }
  if (facts.linked_nodes > 1) {
    plan.reason += "; storage is used by " + std::to_string(plan.tuning.agent_nodes.size()) +
                   " of " + std::to_string(facts.linked_nodes) + " nodes";
  }
  return {};
}

}  // namespace

std::string_view name_of(Mode mode) noexcept {
  return mode == Mode::kOnDemand ? "on demand" : "declared";
}

std::string_view name_of(AgentScope agent_scope) noexcept {
  return agent_scope == AgentScope::kPerNode ? "per node" : "per rank";
}

AgentScope choose_agent_scope(const ReadFacts& facts, const ReadPlan& requested) noexcept {
  if (facts.linked_nodes > 1 && !requested.tuning.agent_nodes.empty()) return AgentScope::kPerNode;
  if (facts.ranks_on_node <= 1) return AgentScope::kPerRank;
  const bool is_direct = requested.access.value_or(facts.access) == Access::kDirect;
  const bool needs_agent = requested.pre_execution_mode == PreExecutionMode::kAgent;
  return requested.tuning.agent_scope.value_or(is_direct || needs_agent ? AgentScope::kPerNode
                                                                        : AgentScope::kPerRank);
}

Result<ReadPlan> plan_read(const ReadFacts& facts, const ReadPlan& requested) {
  ReadPlan plan = requested;
  plan.access = requested.access.value_or(facts.access);
  plan.reason = requested.access ? "access as given" : facts.access_reason;
  if (plan.mode == Mode::kOnDemand) {
    plan.eviction = EvictionPolicy::kLru;
    plan.reason += "; on demand";
  }
  if (plan.budget_bytes == 0)
    plan.budget_bytes = choose_budget(facts, requested.tuning.window_bytes);
  if (plan.tuning.splinter_bytes == 0)
    plan.tuning.splinter_bytes = choose_splinter(facts, plan.budget_bytes, plan.mode);
  if (auto checked = check_splinter(plan, facts); !checked) return failure(checked.error());
  if (auto chosen = choose_memory(plan, facts, requested); !chosen) return failure(chosen.error());
  choose_requests(plan, facts);
  if (auto chosen = choose_striping(plan, facts); !chosen) return failure(chosen.error());
  plan.tuning.agent_scope = choose_agent_scope(facts, requested);
  if (auto chosen = choose_nodes(plan, facts); !chosen) return failure(chosen.error());
  if (plan.tuning.agent_scope == AgentScope::kPerNode && facts.ranks_on_node > 1) {
    plan.reason +=
        "; one agent for the " + std::to_string(facts.ranks_on_node) + " ranks of this node";
  }
  return plan;
}

}  // namespace forebay
