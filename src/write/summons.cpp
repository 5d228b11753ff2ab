// SPDX-License-Identifier: Apache-2.0
// A call, an answer from each, and the word to come. Calls have numbers: who was late to answer one
// has not answered the next.
#include "write/summons.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include <poll.h>

#include "base/sleep_until_ready.hpp"
#include "comm/message_bytes.hpp"
#include "write/decision.hpp"

namespace forebay::write {

namespace {

enum class SummonsKind : std::uint32_t {
  kCall,    ///< first rank to others: the number of the call; with what is told
  kAnswer,  ///< the answer: that number
  kCome,    ///< first rank to others: that number; all have answered
};

constexpr std::uint32_t kCallBytesMax = std::uint32_t{1} << 20U;

/// By SummonsKind.
constexpr std::array<comm::MessageRule, 3> kRules{{
    {"call", 1, 0, kCallBytesMax},
    {.name = "answer", .words = 1},
    {.name = "come", .words = 1},
}};

comm::LinkHeader letter(SummonsKind kind, std::uint64_t number) {
  return {.kind = static_cast<std::uint32_t>(kind), .words = {number}};
}

TimePoint now() { return std::chrono::steady_clock::now(); }

tl::unexpected<Error> not_called(std::uint32_t rank, ErrorClass kind, std::string cause) {
  const Error error({.kind = kind,
                     .operation = "call rank " + std::to_string(rank) + " to write",
                     .cause = std::move(cause)});
  return failure(on_rank(error, rank));
}

}  // namespace

Result<std::unique_ptr<Summons>> Summons::open(comm::Communicator& ranks,
                                               std::uint32_t computing,
                                               const comm::LinkOptions& options) {
  auto office = comm::PostOffice::open(ranks, options);
  if (!office) return failure(office.error());
  std::unique_ptr<Summons> summons(new Summons(std::move(*office), computing));
  if (Status all = ranks.agree(summons->meet(options.connect_ms_max)); !all)
    return failure(all.error());
  const bool has_a_part = summons->is_first() || summons->is_given_to_io();
  if (!has_a_part) summons->office_.reset();
  return summons;
}

/// The first call is for nothing: it connects, so that the first rank's end is noticed.
Status Summons::meet(std::chrono::milliseconds patience) {
  if (is_first()) return ask({}, patience);
  if (!is_given_to_io()) return {};
  const TimePoint end = now() + patience;
  while (!was_called_ && gone_.empty() && now() < end)
    attend_until(end);
  if (was_called_) return {};
  if (!gone_.empty()) return failure(gone_.begin()->second);
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "connect to the first rank",
                  .cause = "it has not called within " + std::to_string(patience.count()) + " ms"});
}

Status Summons::call(const comm::Bytes& told, std::chrono::milliseconds patience) {
  ++number_;
  if (Status asked = ask(told, patience); !asked) return asked;
  // A header alone on a connection where nothing is queued: the kernel takes it at once.
  for (std::uint32_t rank = computing_; rank < office_->size(); ++rank)
    std::ignore = office_->send({rank}, letter(SummonsKind::kCome, number_));
  return {};
}

Status Summons::ask(const comm::Bytes& told, std::chrono::milliseconds patience) {
  answered_.clear();
  for (std::uint32_t rank = computing_; rank < office_->size(); ++rank) {
    // Who cannot be reached is lost, which is told on its own.
    std::ignore = office_->send({rank}, letter(SummonsKind::kCall, number_), told);
  }
  const TimePoint end = now() + patience;
  const std::uint32_t called = office_->size() - computing_;
  while (answered_.size() < called && gone_.empty() && now() < end)
    attend_until(end);
  return answers_of_all();
}

/// Who has ended comes first: for others nobody has waited then.
Status Summons::answers_of_all() const {
  if (!gone_.empty()) {
    const auto& [rank, why] = *gone_.begin();
    return not_called(rank, ErrorClass::kClosed,
                      "this rank, which is given to I/O, has ended: " + why.message());
  }
  for (std::uint32_t rank = computing_; rank < office_->size(); ++rank) {
    if (!answered_.contains(rank))
      return not_called(rank, ErrorClass::kLimit,
                        "this rank, which is given to I/O, does not answer: it has to call "
                        "Runtime::serve()");
  }
  return {};
}

std::optional<comm::Bytes> Summons::next() {
  while (!is_to_come_ && gone_.empty())
    attend_until(std::nullopt);
  if (!std::exchange(is_to_come_, false)) return std::nullopt;
  return std::exchange(told_, {});
}

/// Sleeps until something has come, or that time.
void Summons::attend_until(Deadline end) {
  const std::optional<TimePoint> due = office_->due();
  if (due && (!end || *due < *end)) end = due;
  int wait_ms = -1;
  if (end) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - now()).count();
    wait_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }
  pollfd entry{office_->descriptor(), POLLIN, 0};
  sleep_until_ready_ms({&entry, 1}, wait_ms);
  office_->attend(*this);
}

/// Calls come from the first rank, answers from those given to I/O.
Status Summons::check(comm::Rank from, const comm::LinkHeader& header) const {
  if (Status good = comm::check_header(header, kRules); !good) return good;
  const bool is_answer = static_cast<SummonsKind>(header.kind) == SummonsKind::kAnswer;
  const bool may_send = is_answer ? is_first() && from.number >= computing_
                                  : is_given_to_io() && from == comm::Rank{0};
  if (may_send) return {};
  return failure(comm::malformed(kRules.at(header.kind).name, "sender", from.number,
                                 is_answer ? "must be a rank given to I/O" : "must be rank 0"));
}

Result<std::span<std::byte>> Summons::place(comm::Rank from, const comm::LinkHeader& header) {
  if (Status good = check(from, header); !good) return failure(good.error());
  told_.resize(header.payload_bytes);
  return std::span(told_);
}

Status Summons::received(comm::Rank from,
                         const comm::LinkHeader& header,
                         std::span<const std::byte> payload) {
  if (Status good = check(from, header); !good) return good;
  const std::uint64_t number = header.words[0];
  switch (static_cast<SummonsKind>(header.kind)) {
    case SummonsKind::kCall:
      // The first call is for nothing.
      if (!payload.empty())
        if (const auto decision = decision_from(payload); !decision)
          return failure(decision.error());
      number_ = number;
      was_called_ = true;
      return office_->send(from, letter(SummonsKind::kAnswer, number));
    case SummonsKind::kAnswer:
      if (number == number_) answered_.insert(from.number);
      return {};
    case SummonsKind::kCome:
      is_to_come_ = is_to_come_ || number == number_;
      return {};
  }
  return {};
}

void Summons::lost(comm::Rank peer, const Error& why) { gone_.emplace(peer.number, why); }

}  // namespace forebay::write
