// SPDX-License-Identifier: Apache-2.0
// Messages between a node's agent and its clients. Ring messages concern one splinter each. Channel
// messages open and close sessions. docs/formats/shared-memory.md defines when each is sent.
#pragma once

#include <forebay/error.hpp>
#include <forebay/read_plan.hpp>
#include <forebay/session.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "read/geometry.hpp"
#include "read/load_scheduler.hpp"
#include "shm/session_control_block.hpp"

namespace forebay::read {

/// Increased with every change of the messages below: both sides need the same version.
inline constexpr std::uint32_t kNodeProtocolVersion = 4;

/// Messages that a ring holds.
inline constexpr std::uint64_t kNodeRingEntries = 4096;

/// From a client: requests a part of a splinter.
struct LoadRequest {
  enum class Kind : std::uint8_t {
    kNoReply,  ///< no reply is needed
    kNotify,   ///< one LoadNotification, as soon as the splinter has changed
    kCancel,   ///< the use predicted by this client's hint does not happen
    kObserve,  ///< the client reads the part: for the function that the agent runs for it
  };

  std::uint64_t session = 0;  ///< its number
  /// kNotify: the last number that the client has assigned to a request.
  std::uint64_t sequence = 0;
  SplinterIndex splinter = 0;
  SplinterPart part;
  Kind kind = Kind::kNoReply;
  /// Applies to kNoReply. The agent serves all kNotify requests with kAwaitedUnassisted.
  LoadPriority priority = LoadPriority::kHint;
  LoadGranularity granularity = LoadGranularity::kSplinter;
  /// Of a hint or kObserve: the number of the client's next access. `use`: that of the access that
  /// will use the hint.
  std::uint64_t position = 0;
  std::uint64_t use = kUseUnknown;
};

/// Change of a splinter for which a client waits.
enum class NotificationKind : std::uint32_t {
  kChanged,     ///< read the entry again
  kNoMemory,    ///< views hold all memory: read a private copy, this once
  kUnreadable,  ///< the splinter cannot be read whole: read a private copy, always
  kOverflow,    ///< for all splinters of all sessions: notifications were dropped; check all
};

struct LoadNotification {
  std::uint64_t session = 0;
  std::uint64_t sequence = 0;  ///< of the client's message
  SplinterIndex splinter = 0;
  NotificationKind kind = NotificationKind::kChanged;
};

/// kDamage, with field and value, if no client of that session can have sent it.
Status check_ring_message(const LoadRequest& ring_message, const Geometry& geometry);
/// The same for the agent's message, to a client that has assigned numbers up to `last`.
Status check_ring_message(const LoadNotification& ring_message,
                          const Geometry& geometry,
                          std::uint64_t last);

/// The agent's first message, with three descriptors: the connection's memory (flag and rings), the
/// client's doorbell, the agent's doorbell.
struct ConnectReply {
  std::uint32_t protocol = kNodeProtocolVersion;
  std::uint32_t client_index = 0;  ///< the client's row in all reference counts
};

/// A client's message, with one descriptor: the file, open for reading. Agents of other nodes send
/// it without a descriptor.
struct OpenSessionRequest {
  SessionHandle handle;
  ByteRange extent;
  ReadPlan plan;     ///< as requested
  std::string path;  ///< absolute
  /// How the client would access the file, and why; absent: decided where the file is read.
  std::optional<Access> access = std::nullopt;
  std::string access_reason = {};
};

/// Reply, with three descriptors: window, table, reference counts.
struct OpenSessionReply {
  SessionHandle handle;
  ReadPlan plan;  ///< no open values
};

/// A handle that no session has. In an ErrorReply: all sessions that the client is opening.
inline constexpr SessionHandle kAllSessions{UINT64_MAX, UINT64_MAX};

/// Reply if the session could not be opened.
struct ErrorReply {
  SessionHandle handle;
  Error error;
};

/// A client's message: it has closed the session, and sends no more requests for it. It may still
/// hold pins.
struct CloseSessionRequest {
  SessionHandle handle;
};

/// A client's message: bytes of the file have changed. After the reply, no client of this node
/// finds the bytes from before.
struct InvalidateRequest {
  SessionHandle handle;
  ByteRange range;
};

/// A client's message: starts a function by name, which yields the client's coming reads.
struct StartFunctionRequest {
  SessionHandle handle;
  std::string name;
  std::vector<std::byte> argument;
};

/// Reply to the two requests before, unless it is an ErrorReply.
struct DoneReply {
  SessionHandle handle;
};

using NodeMessage = std::variant<ConnectReply,
                                 OpenSessionRequest,
                                 OpenSessionReply,
                                 ErrorReply,
                                 CloseSessionRequest,
                                 InvalidateRequest,
                                 DoneReply,
                                 StartFunctionRequest>;

std::vector<std::byte> to_bytes(const NodeMessage& message);
/// kDamage, with message kind, field and value, if the bytes are no valid message.
Result<NodeMessage> message_from(std::span<const std::byte> bytes);

}  // namespace forebay::read
