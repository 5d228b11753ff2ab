// SPDX-License-Identifier: Apache-2.0
#include "runtime/open_tuned_session.hpp"

#include <array>
#include <span>
#include <type_traits>
#include <utility>

namespace forebay {

namespace {

using Trial = SessionTuner::Trial;

/// A Trial as the first rank sends it.
struct TrialMessage {
  std::array<char, 256> explanation = {};  ///< ends at the first 0
  ReadCandidate candidate = {};
  std::uint32_t is_tried = 0;
};
static_assert(std::is_trivially_copyable_v<TrialMessage>);

TrialMessage message_of(const Trial& trial) {
  TrialMessage message{.candidate = trial.candidate.value_or(ReadCandidate{}),
                       .is_tried = trial.candidate ? 1U : 0U};
  trial.explanation.copy(message.explanation.data(), message.explanation.size() - 1);
  return message;
}

/// Collective. Other ranks measure nothing.
Trial broadcast_trial(comm::Communicator& ranks, Trial mine) {
  TrialMessage message = message_of(mine);
  const Status sent = ranks.broadcast(std::as_writable_bytes(std::span(&message, 1)), {0});
  if (!sent) return {.explanation = "not tuned: " + sent.error().message()};
  if (message.is_tried == 0) return {};
  return {message.candidate, message.explanation.data(), std::move(mine.end)};
}

/// The ranks for which the first one decides; null: this rank decides for itself. The same on all
/// ranks, and only for plans with which they could share agents.
comm::Communicator* common_ranks(const RuntimeCore& runtime, const ReadPlan& plan) {
  const ReadTuning& tuning = plan.tuning;
  const bool reads_alone = tuning.agent_scope == AgentScope::kPerRank && tuning.agent_nodes.empty();
  const bool is_common = runtime.node_client() != nullptr && !reads_alone;
  return is_common ? runtime.ranks()->get() : nullptr;
}

Trial choose_trial(RuntimeCore& runtime,
                   const Result<AccessMethod>& method,
                   const SessionRequest& request) {
  comm::Communicator* const ranks = common_ranks(runtime, request.plan);
  if (ranks != nullptr && ranks->rank() != comm::Rank{0}) return broadcast_trial(*ranks, {});
  auto facts = method.and_then(
      [&](const AccessMethod& known) { return facts_for_session(runtime, known, request.extent); });
  if (facts && ranks != nullptr) {
    facts->ranks_on_node = runtime.ranks_on_node();
    facts->linked_nodes = runtime.linked_nodes();
  }
  const std::uint32_t sharing_ranks = ranks != nullptr ? ranks->size() : 1;
  Trial trial = facts ? runtime.session_tuner().next(*facts, request.plan, sharing_ranks) : Trial();
  if (ranks == nullptr) return trial;
  return broadcast_trial(*ranks, std::move(trial));
}

}  // namespace

Result<SessionPtr> open_tuned_session(RuntimeCore& runtime,
                                      const Result<AccessMethod>& method,
                                      const SessionRequest& request,
                                      const SessionOpener& open) {
  const Trial trial = request.plan.tune ? choose_trial(runtime, method, request) : Trial();
  if (!method) return failure(method.error());
  AccessMethod explained = *method;
  if (!trial.explanation.empty()) explained.reason += "; " + trial.explanation;
  if (!trial.candidate) return open(runtime, explained, request);
  const ReadPlan tried = plan_with(*trial.candidate, request.plan, runtime.linked_nodes());
  auto session = open(runtime, explained, {request.extent, tried, request.handle});
  // Without its agent, a rank reads for itself.
  const auto scope = trial.candidate->agent_scope;
  const bool is_as_tried = session && (!scope || (*session)->plan().tuning.agent_scope == scope);
  if (!session) session = open(runtime, *method, request);
  if (!session || !trial.end) return session;
  if (is_as_tried)
    (*session)->set_on_closed(trial.end);
  else
    trial.end(std::nullopt);
  return session;
}

}  // namespace forebay
