// SPDX-License-Identifier: Apache-2.0
// Encoding of the messages between the agents of a dataset, and checks of received messages.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/communicator.hpp"
#include "comm/link.hpp"
#include "comm/message_bytes.hpp"
#include "write/aggregation_map.hpp"
#include "write/messages.hpp"

namespace forebay::write {

comm::Bytes to_bytes(const OfferChunkMessage& message);
/// Fails with kDamage, with field and value, if the bytes are no valid message; the same below.
Result<OfferChunkMessage> offer_chunk_from_bytes(std::span<const std::byte> bytes);

comm::Bytes to_bytes(const FileDurableMessage& message);
Result<FileDurableMessage> file_durable_from_bytes(std::span<const std::byte> bytes);

/// Checks what does not depend on the state of a role: the kind, the words that are used, the
/// length of the payload, and that `from` has the role that sends it to `me`. `from` and `me` must
/// be ranks of `aggregation`.
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
