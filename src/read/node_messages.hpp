// SPDX-License-Identifier: Apache-2.0
// What the agent of a node and its clients say to each other. Words go through rings, one for each
// thing that happens to a splinter; messages go through a channel, when a session is opened or
// left. docs/formats/arena.md tells when each is sent.
#pragma once

#include <forebay/error.hpp>
#include <forebay/plan.hpp>
#include <forebay/session.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "read/geometry.hpp"
#include "read/schedule.hpp"
#include "shm/session_books.hpp"

namespace forebay::read {

/// Grows with every change of what follows: both sides must be of one version.
inline constexpr std::uint32_t kNodeProtocol = 2;

/// Messages that a ring holds.
inline constexpr std::uint64_t kNodeRingWords = 4096;

/// From a client: it wants a part of a splinter.
struct ClientWord {
  enum class Kind : std::uint8_t {
    kWant,   ///< no answer is needed
    kAwait,  ///< one AgentWord, as soon as the splinter has changed
  };

  std::uint64_t session = 0;  ///< its number
  std::uint64_t number = 0;   ///< kAwait: the last need that the client has numbered
  SplinterIndex splinter = 0;
  ValidBytes part;
  Kind kind = Kind::kWant;
  Urgency urgency = Urgency::kHint;
  Precision precision = Precision::kWhole;
};

/// What a client is told about a splinter that it waits for.
enum class News : std::uint32_t {
  kChanged,     ///< look again
  kStarved,     ///< views of others hold all memory: read it privately, this once
  kUnreadable,  ///< it cannot be read whole: read it privately, always
  kMissed,      ///< about all splinters of all sessions: some words had no room; look at all
};

struct AgentWord {
  std::uint64_t session = 0;
  std::uint64_t number = 0;  ///< that of the client's word
  SplinterIndex splinter = 0;
  News news = News::kChanged;
};

/// kDamage, with field and value, if no client of that session sends it.
Status check_word(const ClientWord& word, const Geometry& geometry);
/// The same of the agent, to a client whose last need has the number `last`.
Status check_word(const AgentWord& word, const Geometry& geometry, std::uint64_t last);

/// The agent's first message, with three descriptors: the memory of the rings and of the flag, the
/// client's bell, the agent's bell.
struct Welcome {
  std::uint32_t protocol = kNodeProtocol;
  std::uint32_t row = 0;  ///< of the ledgers
};

/// A client's, with one descriptor: the file, open for reading. An agent of another node sends it
/// without one.
struct OpenRequest {
  SessionHandle handle;
  ByteRange extent;
  ReadPlan plan;     ///< as the user gave it
  std::string path;  ///< absolute
  /// How the client would read the file, and why; absent: to be found out where it is read.
  std::optional<Access> access = std::nullopt;
  std::string access_reason = {};
};

/// The answer, with three descriptors: window, table, ledger.
struct Opened {
  SessionHandle handle;
  ReadPlan plan;  ///< complete
};

/// A number that no session has: all that are being opened.
inline constexpr SessionHandle kEverySession{UINT64_MAX, UINT64_MAX};

/// The other answer.
struct Refused {
  SessionHandle handle;
  Error why;
};

/// A client's: it has closed the session, and asks for nothing more. It may hold pins still.
struct Leave {
  SessionHandle handle;
};

using NodeMessage = std::variant<Welcome, OpenRequest, Opened, Refused, Leave>;

std::vector<std::byte> to_bytes(const NodeMessage& message);
/// kDamage, with message kind, field and value, if it is none.
Result<NodeMessage> message_from(std::span<const std::byte> bytes);

}  // namespace forebay::read
