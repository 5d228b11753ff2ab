// SPDX-License-Identifier: Apache-2.0
// The numbers behind the default plan, each with where it comes from. They were measured on local
// disks; a machine's own calibration may replace them, the rules stay.
#include <forebay/plan.hpp>

#include <algorithm>
#include <bit>
#include <string>

namespace forebay {

namespace {

// 256 KiB x 16 kept a local disk busy where requests of 4 to 16 MiB lost a third; a splinter is one
// such request.
constexpr std::uint64_t kSplinterBytes = 256_KiB;
constexpr std::uint64_t kSplinterBytesMin = 4_KiB;
constexpr std::uint64_t kSplinterBytesMax = 16_MiB;
constexpr std::uint32_t kDirectDepth = 16;
// Requests of a few KiB take longer to be asked than that many of them to be answered.
constexpr std::uint64_t kBusyDepthMax = 256;
// Copies from the page cache: more than this at once only fight for the cores.
constexpr std::uint32_t kBufferedDepth = 4;
constexpr std::uint64_t kBufferedWindowBytes = 1_MiB;
// Copies from the page cache overlap nothing: what is filled should be read from a core's cache.
// Two splinters took 0.85 of the time of four and 0.5 of that of a window of 64 MiB.
constexpr std::uint64_t kCachedSplinters = 2;
constexpr std::uint64_t kDirectWindowBytes = 16_MiB;
// Half of the window is for what was asked for.
constexpr std::uint64_t kEagerShare = 2;
// What reads a device ahead with full depth; a smaller window leaves it idle now and then.
constexpr std::uint64_t kBusyWindowBytes = kEagerShare * kDirectDepth * kSplinterBytes;
// Of what the Runtime has in all, 1 / this is kept for windows of a few splinters, so that sessions
// can still be opened after some have taken as much as they like.
constexpr std::uint64_t kReserveShare = 2;
// A session that was given no budget grows until 1 / this of all memory is left to others.
constexpr std::uint64_t kGrowthReserveShare = 8;
// So that the residency table stays below 24 MiB whatever the size of the file.
constexpr std::uint64_t kSplintersMax = 1ULL << 20U;
// What is given by hand may go further, but not beyond what memory has room for and SplinterIndex
// can count: 384 MiB of table.
constexpr std::uint64_t kSplintersLimit = 1ULL << 24U;
// What one node reads in a row: no splinter is larger.
constexpr std::uint64_t kAgentStripeBytes = kSplinterBytesMax;
// Fewer splinters than this leave nothing to overlap.
constexpr std::uint64_t kSplintersMin = 4;

tl::unexpected<Error> bad_plan(ErrorClass kind, std::string cause) {
  return failure({.kind = kind, .operation = "plan a read session", .cause = std::move(cause)});
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// What must be under way to keep the storage busy; 0: not known, or no matter.
std::uint64_t busy_bytes(const ReadFacts& facts) {
  return facts.cached ? 0 : facts.request_bytes * facts.requests;
}

std::uint64_t choose_splinter(const ReadFacts& facts, std::uint64_t budget) {
  std::uint64_t splinter = kSplinterBytes;
  if (busy_bytes(facts) > 0) splinter = std::max(splinter, std::bit_floor(facts.request_bytes));
  while (splinter > 64_KiB && splinter * kSplintersMin > facts.extent.size)
    splinter /= 2;
  while (splinter < kSplinterBytesMax && facts.extent.size / splinter > kSplintersMax)
    splinter *= 2;
  while (splinter > kSplinterBytesMin && splinter * kSplintersMin > budget)
    splinter /= 2;
  return std::max(splinter, std::bit_ceil(facts.alignment_bytes));
}

Status check_splinter(const ReadPlan& plan, const ReadFacts& facts) {
  const std::uint64_t splinter = plan.splinter_bytes;
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
                                                      "; direct access to this file asks for a " +
                                                      "multiple of " +
                                                      std::to_string(facts.alignment_bytes));
  }
  return {};
}

/// The budget of a session that was given none.
std::uint64_t choose_budget(const ReadFacts& facts, std::uint64_t window_bytes) {
  const std::uint64_t reserve = facts.total_bytes / kGrowthReserveShare;
  const std::uint64_t smallest =
      std::min(facts.available_bytes, std::max(window_bytes, kBufferedWindowBytes));
  return std::max(smallest, facts.available_bytes - std::min(facts.available_bytes, reserve));
}

/// What it is when nothing limits it.
std::uint64_t like_window(const ReadPlan& plan, const ReadFacts& facts) {
  if (facts.cached) return kCachedSplinters * plan.splinter_bytes;
  const bool direct = plan.access == Access::kDirect;
  return std::max(kEagerShare * busy_bytes(facts),
                  direct ? kDirectWindowBytes : kBufferedWindowBytes);
}

/// What the session likes, as long as that leaves the reserve alone and half of the rest for the
/// next one; else what keeps the storage busy; else a few splinters.
std::uint64_t choose_window(ReadPlan& plan, const ReadFacts& facts) {
  const std::uint64_t liked = like_window(plan, facts);
  const std::uint64_t smallest = std::min(liked, kSplintersMin * plan.splinter_bytes);
  const std::uint64_t reserve = std::max(facts.total_bytes, facts.available_bytes) / kReserveShare;
  const std::uint64_t spare = facts.available_bytes - std::min(facts.available_bytes, reserve);
  const std::uint64_t busy = std::max(kBusyWindowBytes, kEagerShare * busy_bytes(facts));
  const std::uint64_t fair = std::max({spare / 2, std::min(spare, busy), smallest});
  if (fair >= liked) return liked;
  if (fair > liked / 2) return fair;  // near enough to say nothing
  plan.reason += "; a small window, as " + std::to_string(facts.available_bytes) +
                 " bytes are left of the Runtime's budget";
  return fair;
}

Status choose_memory(ReadPlan& plan, const ReadFacts& facts, const ReadPlan& wanted) {
  const std::uint64_t splinter = plan.splinter_bytes;
  if (wanted.budget_bytes != 0 && wanted.budget_bytes < splinter) {
    return bad_plan(ErrorClass::kInvalidArgument,
                    "budget_bytes is " + std::to_string(wanted.budget_bytes) +
                        ", less than one splinter of " + std::to_string(splinter) +
                        "; raise it or choose smaller splinters");
  }
  if (facts.available_bytes < splinter) {
    return bad_plan(ErrorClass::kLimit,
                    std::to_string(facts.available_bytes) +
                        " bytes are left of the Runtime's budget, less than one " + "splinter of " +
                        std::to_string(splinter) +
                        "; close other sessions or raise RuntimeOptions::budget_bytes");
  }
  const std::uint64_t needed = std::max(splinter, round_up(facts.extent.size, splinter) + splinter);
  plan.budget_bytes =
      std::min({plan.budget_bytes, facts.available_bytes, needed}) / splinter * splinter;
  if (plan.window_bytes == 0) plan.window_bytes = choose_window(plan, facts);
  plan.window_bytes =
      std::clamp(plan.window_bytes / splinter * splinter, splinter, plan.budget_bytes);
  return {};
}

/// Requests of the plan's size that hold the bytes which keep the storage busy. Larger ones are
/// fewer, but not fewer than servers, each of which is to have one.
std::uint64_t busy_requests(const ReadPlan& plan, const ReadFacts& facts) {
  const std::uint64_t needed = round_up(busy_bytes(facts), plan.request_bytes) / plan.request_bytes;
  return std::max<std::uint64_t>(needed, std::min(facts.requests, std::max(facts.servers, 1U)));
}

/// As many requests as keep a known storage busy, or as there is memory for: the plan says which.
void choose_busy_depth(ReadPlan& plan, const ReadFacts& facts) {
  const std::uint64_t busy = busy_requests(plan, facts);
  const std::uint64_t room = plan.budget_bytes / plan.request_bytes;
  const bool fits = busy <= room || plan.budget_bytes >= facts.extent.size;
  const std::uint64_t depth = std::min(fits ? busy : room, kBusyDepthMax);
  plan.queue_depth = static_cast<std::uint32_t>(depth);
  plan.reason += "; " + std::to_string(depth) + " requests of " +
                 std::to_string(plan.request_bytes) + " bytes ";
  if (depth == busy) {
    plan.reason += "keep its storage busy";
  } else {
    plan.reason += depth == kBusyDepthMax ? "are under way, the most there can be"
                                          : "are all that its budget has room for";
    plan.reason += ", and " + std::to_string(busy) + " would keep its storage busy";
  }
}

void choose_requests(ReadPlan& plan, const ReadFacts& facts) {
  const bool known = busy_bytes(facts) > 0;
  if (!facts.cached && !facts.storage_reason.empty()) plan.reason += "; " + facts.storage_reason;
  if (plan.request_bytes == 0) plan.request_bytes = known ? facts.request_bytes : kSplinterBytes;
  const std::uint64_t smallest = std::max(kSplinterBytesMin, std::bit_ceil(facts.alignment_bytes));
  plan.request_bytes = std::clamp(std::bit_floor(plan.request_bytes),
                                  std::min(smallest, plan.splinter_bytes), plan.splinter_bytes);
  if (plan.queue_depth == 0 && known) choose_busy_depth(plan, facts);
  if (plan.queue_depth == 0)
    plan.queue_depth = plan.access == Access::kDirect ? kDirectDepth : kBufferedDepth;
  if (!plan.eager_bytes) plan.eager_bytes = plan.window_bytes / kEagerShare;
  *plan.eager_bytes = std::min(*plan.eager_bytes, plan.budget_bytes);
}

Status choose_striping(ReadPlan& plan, const ReadFacts& facts) {
  if (plan.servers > 1 && plan.stripe_bytes == 0) {
    return bad_plan(ErrorClass::kInvalidArgument,
                    "servers is " + std::to_string(plan.servers) +
                        ", and stripe_bytes is 0; give how much of the file each has in a row");
  }
  if (plan.servers == 0 && !facts.cached) {
    plan.servers = facts.servers;
    plan.stripe_bytes = facts.stripe_bytes;
  }
  plan.servers = std::max(plan.servers, 1U);
  return {};
}

Status choose_nodes(ReadPlan& plan, const ReadFacts& facts) {
  if (plan.agent_nodes.empty()) return {};
  for (const std::uint32_t node : plan.agent_nodes) {
    if (node < std::max(facts.linked_nodes, 1U) || facts.linked_nodes <= 1) continue;
    return bad_plan(ErrorClass::kInvalidArgument, "agent_nodes has node " + std::to_string(node) +
                                                      "; there are " +
                                                      std::to_string(facts.linked_nodes));
  }
  if (plan.agent_stripe_bytes == 0) plan.agent_stripe_bytes = kAgentStripeBytes;
  if (!std::has_single_bit(plan.agent_stripe_bytes)) {
    return bad_plan(ErrorClass::kInvalidArgument, "agent_stripe_bytes is " +
                                                      std::to_string(plan.agent_stripe_bytes) +
                                                      "; it must be a power of two");
  }
  // All nodes must draw the same lines, whatever memory each has left for splinters.
  if (plan.agent_stripe_bytes < plan.splinter_bytes) {
    return bad_plan(ErrorClass::kInvalidArgument,
                    "agent_stripe_bytes is " + std::to_string(plan.agent_stripe_bytes) +
                        ", less than one splinter of " + std::to_string(plan.splinter_bytes) +
                        "; give splinter_bytes as well");
  }
  if (facts.linked_nodes > 1) {
    plan.reason += "; storage is used by " + std::to_string(plan.agent_nodes.size()) + " of " +
                   std::to_string(facts.linked_nodes) + " nodes";
  }
  return {};
}

}  // namespace

std::string_view name_of(Agents agents) noexcept {
  return agents == Agents::kPerNode ? "per node" : "per rank";
}

Agents choose_agents(const ReadFacts& facts, const ReadPlan& wanted) noexcept {
  if (facts.linked_nodes > 1 && !wanted.agent_nodes.empty()) return Agents::kPerNode;
  if (facts.ranks_at_node <= 1) return Agents::kPerRank;
  const Access access = wanted.access.value_or(facts.access);
  return wanted.agents.value_or(access == Access::kDirect ? Agents::kPerNode : Agents::kPerRank);
}

Result<ReadPlan> plan_read(const ReadFacts& facts, const ReadPlan& wanted) {
  ReadPlan plan = wanted;
  plan.access = wanted.access.value_or(facts.access);
  plan.reason = wanted.access ? "access as given" : facts.access_reason;
  if (plan.budget_bytes == 0) plan.budget_bytes = choose_budget(facts, wanted.window_bytes);
  if (plan.splinter_bytes == 0) plan.splinter_bytes = choose_splinter(facts, plan.budget_bytes);
  if (auto checked = check_splinter(plan, facts); !checked) return failure(checked.error());
  if (auto chosen = choose_memory(plan, facts, wanted); !chosen) return failure(chosen.error());
  choose_requests(plan, facts);
  if (auto chosen = choose_striping(plan, facts); !chosen) return failure(chosen.error());
  plan.agents = choose_agents(facts, wanted);
  if (auto chosen = choose_nodes(plan, facts); !chosen) return failure(chosen.error());
  if (plan.agents == Agents::kPerNode && facts.ranks_at_node > 1) {
    plan.reason +=
        "; one agent for the " + std::to_string(facts.ranks_at_node) + " ranks of this node";
  }
  return plan;
}

}  // namespace forebay
