// SPDX-License-Identifier: Apache-2.0
// Encoding of the messages between the agents of a dataset, and checks of received messages.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/link.hpp"
#include "comm/message_bytes.hpp"
#include "write/aggregation_map.hpp"
#include "write/messages.hpp"
#include "write/plan_schedule.hpp"

namespace forebay::write {

comm::Bytes to_bytes(const OfferChunkMessage& message);
/// Fails with kDamage, with field and value, if the bytes are no valid message; the same below.
Result<OfferChunkMessage> offer_chunk_from_bytes(std::span<const std::byte> bytes);

comm::Bytes to_bytes(const FileDurableMessage& message);
Result<FileDurableMessage> file_durable_from_bytes(std::span<const std::byte> bytes);

/// A plan with its reason.
comm::Bytes to_bytes(const WritePlan& plan);
Result<WritePlan> write_plan_from_bytes(std::span<const std::byte> bytes);

/// Payload of kStepOutcome.
struct StepOutcomeMessage {
  std::optional<Error> failure = std::nullopt;  ///< absent if the step was published
  std::vector<PlanChange> changes = {};         ///< that are now decided
};
/// Empty for a message without content.
comm::Bytes to_bytes(const StepOutcomeMessage& message);
Result<StepOutcomeMessage> step_outcome_from_bytes(std::span<const std::byte> bytes);

/// The group that a message is about; no value for a kind that is about none, or about a file that
/// any rank may have created.
std::optional<std::uint64_t> group_of(const comm::LinkHeader& header);

/// Checks the kind, the words that are used, and the length of the payload.
Status check_message_header(const comm::LinkHeader& header);
/// As check_message_header(). Also checks that `from` has the role that sends the message to `me`
/// by the paths of the message's group. `from` and `me` must be ranks of `aggregation`.
Status check_message(const comm::LinkHeader& header,
                     RankNumber from,
                     RankNumber me,
                     const AggregationMap& aggregation);

/// A word of a message that must be a 32-bit number; kDamage otherwise.
Result<std::uint32_t> word_as_u32(const comm::LinkHeader& header, std::size_t word);

/// The Error for a field of a message that is wrong.
Error malformed_message(MessageKind kind,
                        std::string_view field,
                        std::uint64_t value,
                        std::string_view must_be);

/// Reassembles a payload that is sent as several messages (AgentContext::send_fragmented()).
struct ReassemblyBuffer {
  std::optional<std::uint64_t> total_bytes = {};  ///< announced by the first fragment
  comm::Bytes bytes = {};

  /// Appends a fragment. If it announces another total than the first one, or would exceed that
  /// total, fails with kDamage and appends nothing.
  Status add(MessageKind kind, std::span<const std::byte> fragment, std::uint64_t announced_bytes);
  bool is_complete() const noexcept { return total_bytes == bytes.size(); }
};

}  // namespace forebay::write
