// SPDX-License-Identifier: Apache-2.0
// What the agents of two nodes send each other: the kinds of messages, and what their headers may
// say.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "comm/error_bytes.hpp"
#include "comm/message_bytes.hpp"

namespace forebay::read {

/// LinkHeader::kind, with its words.
enum class LinkKind : std::uint32_t {
  kOpen,      ///< an OpenRequest as payload
  kRequest,   ///< id, session, offset, size
  kData,      ///< id; the bytes as payload
  kFailed,    ///< id; an Error as payload
  kLeave,     ///< session
  kAnnounce,  ///< id; its bytes come by the bulk communicator, in the order of announcements
  kSent,  ///< how many more of the announced have left: MPI needs the receiver's help until then
};

inline constexpr std::uint32_t kOpenBytesMax = std::uint32_t{1} << 20U;

/// By LinkKind.
inline constexpr std::array<comm::MessageRule, 7> kLinkRules{{
    {.name = "open", .payload_bytes_min = 1, .payload_bytes_max = kOpenBytesMax},
    {.name = "request", .words = 4},
    {.name = "data",
     .words = 1,
     .payload_bytes_min = 1,
     .payload_bytes_max = std::numeric_limits<std::uint32_t>::max()},
    {.name = "failed",
     .words = 1,
     .payload_bytes_min = 1,
     .payload_bytes_max = comm::kErrorBytesMax},
    {.name = "leave", .words = 1},
    {.name = "announce", .words = 1},
    {.name = "sent", .words = 1},
}};

inline comm::LinkHeader header_of(LinkKind kind, const std::array<std::uint64_t, 4>& words) {
  return {.kind = static_cast<std::uint32_t>(kind), .words = words};
}

/// Of class kDamage; `what` is the field and what it must be.
inline Error malformed(LinkKind kind, const char* field, std::uint64_t value, const char* must_be) {
  return comm::malformed(kLinkRules.at(static_cast<std::size_t>(kind)).name, field, value, must_be);
}

}  // namespace forebay::read
