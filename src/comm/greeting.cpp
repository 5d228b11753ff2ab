// SPDX-License-Identifier: Apache-2.0
// Forty bytes in each direction, which a fresh socket takes and gives in one piece or nearly so.
#include "comm/greeting.hpp"

#include <algorithm>
#include <cerrno>
#include <span>

#include <sys/random.h>
#include <sys/socket.h>

namespace forebay::comm {

namespace {

/// A try takes no longer than this share of all the time there is.
constexpr std::int64_t kTriesMin = 3;
constexpr std::chrono::milliseconds kTryMin{50};

}  // namespace

Result<MeetingToken> draw_token() {
  MeetingToken token;
  if (::getrandom(&token, sizeof token, 0) == sizeof token) return token;
  return failure(system_error({.operation = "draw a random token"}, errno));
}

Greeting make_greeting(const MeetingToken& token, Step step, Rank from, Rank to) {
  const auto& shown = step == Step::kWelcome ? token.answerer : token.caller;
  return {.step = step, .token = shown, .from = from.number, .to = to.number};
}

bool say(const Descriptor& socket, const Greeting& words) {
  const ssize_t said = ::send(socket.get(), &words, sizeof words, MSG_NOSIGNAL);
  return said == static_cast<ssize_t>(sizeof words);
}

Heard Ear::hear(const Descriptor& socket) {
  if (bytes_ == sizeof greeting_) bytes_ = 0;
  const auto rest = std::as_writable_bytes(std::span(&greeting_, 1)).subspan(bytes_);
  const ssize_t got = ::recv(socket.get(), rest.data(), rest.size(), MSG_DONTWAIT);
  const bool is_early = got < 0 && (errno == EAGAIN || errno == EINTR);
  if (is_early) return Heard::kNotAll;
  if (got <= 0) return Heard::kHungUp;
  bytes_ += static_cast<std::size_t>(got);
  return bytes_ == sizeof greeting_ ? Heard::kAll : Heard::kNotAll;
}

std::chrono::milliseconds try_limit(std::size_t addresses, std::chrono::milliseconds all) {
  const auto tries = kTriesMin * static_cast<std::int64_t>(addresses);
  return std::clamp(all / tries, kTryMin, kTryMax);
}

}  // namespace forebay::comm
