// SPDX-License-Identifier: Apache-2.0
// Messages between the agents of two nodes: kinds and limits.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "comm/error_bytes.hpp"
#include "comm/message_bytes.hpp"

namespace forebay::read {

/// LinkHeader::kind, with the header words of each kind.
enum class LinkMessage : std::uint32_t {
  kOpen,      ///< an OpenSessionRequest as payload
  kRequest,   ///< id, session, offset, size
  kData,      ///< id; the bytes as payload
  kError,     ///< id; an Error as payload
  kClose,     ///< session
  kBulkData,  ///< id; the bytes follow by the bulk communicator, in the order of these messages
  /// count: announced sends that have completed since the last such message. Until all have
  /// completed, the node that receives their bytes must call MPI.
  kBulkSent,
  /// session, offset, size of bytes that have changed; 1 if passed on. A node that serves others
  /// passes it on to them: what they have read from it since may have been the old bytes.
  kInvalidate,
};

inline constexpr std::uint32_t kOpenBytesMax = std::uint32_t{1} << 20U;

/// By LinkMessage.
inline constexpr std::array<comm::MessageRule, 8> kLinkMessageRules{{
    {.name = "open", .payload_bytes_min = 1, .payload_bytes_max = kOpenBytesMax},
    {.name = "request", .words = 4},
    {.name = "data",
     .words = 1,
     .payload_bytes_min = 1,
     .payload_bytes_max = std::numeric_limits<std::uint32_t>::max()},
    {.name = "error",
     .words = 1,
     .payload_bytes_min = 1,
     .payload_bytes_max = comm::kErrorBytesMax},
    {.name = "close", .words = 1},
    {.name = "bulk data", .words = 1},
    {.name = "bulk sent", .words = 1},
    {.name = "invalidate", .words = 4},
}};

inline comm::LinkHeader header_of(LinkMessage kind, const std::array<std::uint64_t, 4>& words) {
  return {.kind = static_cast<std::uint32_t>(kind), .words = words};
}

/// Of class kDamage; `must_be` states the valid values of the field.
inline Error malformed(LinkMessage kind,
                       const char* field,
                       std::uint64_t value,
                       const char* must_be) {
  return comm::malformed_message(kLinkMessageRules.at(static_cast<std::size_t>(kind)).name, field,
                                 value, must_be);
}

}  // namespace forebay::read
