// SPDX-License-Identifier: Apache-2.0
// What two ranks say to each other on a fresh connection. An address may lead to a stranger: hosts
// have the same private addresses, ports are used again. So nobody counts as reached before both
// ends have shown what only ranks of this job know.
//
// Caller and answerer exchange three greetings: hello, welcome, confirm. The third makes both sides
// agree on which of several tries it was: an answerer counts a call only once the caller, which may
// have given up and called elsewhere, has said that it counts it too.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/descriptor.hpp"
#include "comm/nodes.hpp"

namespace forebay::comm {

/// The secret of one job. Who calls shows the first half, who answers the second: a stranger that
/// was called by mistake cannot answer with what it has heard.
struct MeetingToken {
  std::array<std::byte, 16> caller = {};
  std::array<std::byte, 16> answerer = {};
};

/// One that nobody can guess.
Result<MeetingToken> draw_token();

enum class Step : std::uint32_t { kHello, kWelcome, kConfirm };

/// Sent as it is: a machine of the other byte order is refused by the magic.
struct Greeting {
  static constexpr std::uint64_t kMagic = 0x79616265726f66;  // "forebay", and the byte order
  static constexpr std::uint32_t kVersion = 1;

  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  Step step = Step::kHello;
  std::array<std::byte, 16> token = {};
  std::uint32_t from = 0;
  std::uint32_t to = 0;

  bool operator==(const Greeting&) const = default;
};
static_assert(sizeof(Greeting) == 40);

/// What `from` says to `to` at this step.
Greeting make_greeting(const MeetingToken& token, Step step, Rank from, Rank to);

/// False if the socket does not take all of it at once: a fresh one does, or is of no use.
bool say(const Descriptor& socket, const Greeting& words);

enum class Heard : std::uint8_t { kNotAll, kAll, kHungUp };

/// A greeting that arrives, maybe in parts.
class Ear {
 public:
  /// Takes what is there, and never more than the greeting: what follows the last one is the
  /// owner's. After kAll, greeting() is whole until the next call.
  Heard hear(const Descriptor& socket);
  const Greeting& greeting() const noexcept { return greeting_; }

 private:
  Greeting greeting_ = {};
  std::size_t bytes_ = 0;
};

/// How long a try to reach a peer may take, and how long one may be silent that called: more, as it
/// is the caller who gives up.
inline constexpr std::chrono::milliseconds kTryMax{3'000};
inline constexpr std::chrono::milliseconds kAnswerMax = 2 * kTryMax;
inline constexpr std::chrono::milliseconds kPauseBetweenRounds{20};

/// The limit of one try where there are so many addresses and so much time for all: short enough
/// that a second round is sure.
std::chrono::milliseconds try_limit(std::size_t addresses, std::chrono::milliseconds all);

}  // namespace forebay::comm
