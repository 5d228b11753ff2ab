// SPDX-License-Identifier: Apache-2.0
#include "comm/turns.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/service_thread.hpp"
#include "base/sleep_until_ready.hpp"
#include "comm/message_bytes.hpp"

namespace forebay::comm {

namespace {

std::uint32_t group_of(Rank rank, std::uint32_t size, std::uint32_t groups) {
  return static_cast<std::uint32_t>(std::uint64_t{rank.number} * groups / size);
}

std::uint32_t first_of(std::uint32_t group, std::uint32_t size, std::uint32_t groups) {
  return static_cast<std::uint32_t>((std::uint64_t{group} * size + groups - 1) / groups);
}

Rank keeper_of(Rank rank, std::uint32_t size, std::uint32_t groups) {
  return {first_of(group_of(rank, size, groups), size, groups)};
}

std::uint32_t ranks_of_group(Rank rank, std::uint32_t size, std::uint32_t groups) {
  const std::uint32_t group = group_of(rank, size, groups);
  return first_of(group + 1, size, groups) - first_of(group, size, groups);
}

/// By Letter.
constexpr std::array<MessageRule, 6> kRules{{{.name = "hello", .words = 1},
                                             {.name = "ask", .words = 1},
                                             {.name = "grant", .words = 1},
                                             {.name = "wanted", .words = 1},
                                             {.name = "back", .words = 1},
                                             {.name = "over", .words = 1}}};

TimePoint now() { return std::chrono::steady_clock::now(); }

}  // namespace

Result<std::shared_ptr<Turns>> Turns::open(Communicator& ranks,
                                           const LinkOptions& links,
                                           const Setup& setup) {
  FOREBAY_ASSERT(setup.at_once > 0);
  auto office = PostOffice::open(ranks, links);
  if (!office) return failure(office.error());
  Status mine;
  std::shared_ptr<Turns> turns;
  Descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (bell) {
    turns.reset(new Turns(std::move(*office), setup, std::move(bell)));
    auto thread = start_service_thread("fb-turns", [raw = turns.get()] { raw->run(); });
    if (thread)
      turns->thread_ = std::move(*thread);
    else
      mine = failure(thread.error());
  } else {
    mine = failure(system_error({.operation = "make a bell"}, errno));
  }
  if (const Status agreed = ranks.agree(mine); !agreed) return failure(agreed.error());
  return turns;
}

Turns::Turns(std::unique_ptr<PostOffice> office, const Setup& setup, Descriptor bell)
    : setup_(setup),
      me_(office->rank()),
      keeper_(keeper_of(me_, office->size(), std::min(setup.at_once, office->size()))),
      group_ranks_(ranks_of_group(me_, office->size(), std::min(setup.at_once, office->size()))),
      bell_(std::move(bell)),
      office_(std::move(office)) {}

Turns::~Turns() { stop(); }

void Turns::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  ring();
  if (thread_.joinable()) thread_.join();
}

void Turns::leave() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_leaving_ = true;
  }
  ring();
}

bool Turns::has_ended() const noexcept {
  const std::lock_guard lock(mutex_);
  return has_ended_;
}

void Turns::ring() const noexcept {
  const std::uint64_t once = 1;
  std::ignore = ::write(bell_.get(), &once, sizeof once);
}

void Turns::run() noexcept {
  send(keeper_, Letter::kHello, 0);
  while (!is_over()) {
    wait();
    std::uint64_t rung = 0;
    std::ignore = ::read(bell_.get(), &rung, sizeof rung);
    say_what_changed();
    office_->attend(*this);
    end_late_turn(now());
  }
  office_.reset();  // so that others see that it has ended
  free_all();
}

/// A rank that keeps no list ends when it wants nothing more, and its keeper sees that; the keeper
/// when all of its group have.
bool Turns::is_over() {
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return true;
  if (!is_leaving_) return false;
  return me_ != keeper_ || gone_.size() + 1 == group_ranks_;
}

void Turns::wait() const {
  std::array<pollfd, 2> entries{{{office_->descriptor(), POLLIN, 0}, {bell_.get(), POLLIN, 0}}};
  Deadline due = office_->due();
  if (holder_ && !queue_.empty()) {
    const TimePoint end = granted_at_ + setup_.lease;
    due = due ? std::min(*due, end) : end;
  }
  int wait_ms = -1;
  if (due) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - now()).count();
    wait_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }
  sleep_until_ready_ms(entries, wait_ms);
}

/// What requests have asked for, or are done with, as a letter.
void Turns::say_what_changed() {
  std::optional<std::uint64_t> back;
  bool asks = false;
  {
    const std::lock_guard lock(mutex_);
    asks = std::exchange(is_asked_, false);
    if (state_ == State::kHeld && users_ == 0 && (is_wanted_ || is_leaving_)) {
      back = own_number_;
      state_ = State::kNone;
    }
  }
  if (asks) send(keeper_, Letter::kAsk, 0);
  if (back) send(keeper_, Letter::kBack, *back);
}

void Turns::send(Rank to, Letter letter, std::uint64_t number) {
  // Who cannot be reached is lost, which is told on its own.
  std::ignore =
      office_->send(to, LinkHeader{.kind = static_cast<std::uint32_t>(letter), .words = {number}});
}

void Turns::free_all() {
  const std::lock_guard lock(mutex_);
  is_free_ = true;
  has_ended_ = true;
  signal_all();
}

void Turns::signal_all() {
  for (detail::Waiter* const waiter : std::exchange(waiters_, {}))
    waiter->signal();
}

/// No letter has a payload.
Result<std::span<std::byte>> Turns::place(Rank from, const LinkHeader& header) {
  if (Status good = check(from, header); !good) return failure(good.error());
  return std::span<std::byte>();
}

Status Turns::check(Rank from, const LinkHeader& header) const {
  if (Status good = check_header(header, kRules); !good) return good;
  const auto letter = static_cast<Letter>(header.kind);
  const bool is_to_keeper =
      letter == Letter::kHello || letter == Letter::kAsk || letter == Letter::kBack;
  const std::uint32_t groups = std::min(setup_.at_once, office_->size());
  const bool may_send =
      is_to_keeper ? keeper_of(from, office_->size(), groups) == me_ : from == keeper_;
  if (may_send) return {};
  return failure(malformed(kRules.at(header.kind).name, "sender", from.number,
                           is_to_keeper ? "must be a rank of this group"
                                        : "must be rank " + std::to_string(keeper_.number)));
}

Status Turns::received(Rank from,
                       const LinkHeader& header,
                       std::span<const std::byte> /*payload*/) {
  if (Status good = check(from, header); !good) return good;
  const std::uint64_t number = header.words[0];
  const auto letter = static_cast<Letter>(header.kind);
  if (letter == Letter::kAsk) asked(from);
  if (letter == Letter::kBack) came_back(from, number);
  const std::lock_guard lock(mutex_);
  if (letter == Letter::kGrant) {
    state_ = State::kHeld;
    own_number_ = number;
    is_wanted_ = false;
    signal_all();
  }
  const bool is_about_mine = state_ == State::kHeld && number == own_number_;
  if (letter == Letter::kWanted && is_about_mine) {
    is_wanted_ = true;
    ring();
  }
  if (letter == Letter::kOver && is_about_mine) state_ = State::kNone;
  return {};
}

void Turns::lost(Rank peer, const Error& /*why*/) {
  gone_.insert(peer);
  std::erase(queue_, peer);
  if (holder_ == peer) grant_next();
  if (peer != keeper_) return;
  const std::lock_guard lock(mutex_);
  is_free_ = true;
  signal_all();
}

void Turns::asked(Rank from) {
  if (holder_ == from || std::ranges::find(queue_, from) != queue_.end()) return;
  queue_.push_back(from);
  if (!holder_) return grant_next();
  send(*holder_, Letter::kWanted, number_);
}

void Turns::came_back(Rank from, std::uint64_t number) {
  if (holder_ == from && number == number_) grant_next();
}

void Turns::grant_next() {
  holder_.reset();
  if (queue_.empty()) return;
  holder_ = queue_.front();
  queue_.pop_front();
  granted_at_ = now();
  send(*holder_, Letter::kGrant, ++number_);
  if (!queue_.empty()) send(*holder_, Letter::kWanted, number_);
}

void Turns::end_late_turn(TimePoint time) {
  if (!holder_ || queue_.empty() || time < granted_at_ + setup_.lease) return;
  send(*holder_, Letter::kOver, number_);
  grant_next();
}

bool Turns::Turn::has() {
  if (!turns_) return true;
  const std::lock_guard lock(turns_->mutex_);
  if (!std::exchange(is_user_, true)) ++turns_->users_;
  if (turns_->is_free_ || turns_->state_ == State::kHeld) return true;
  if (turns_->state_ == State::kNone) {
    turns_->state_ = State::kAsked;
    turns_->is_asked_ = true;
    turns_->ring();
  }
  return false;
}

bool Turns::Turn::arm(detail::Waiter& waiter) {
  if (!turns_) return false;
  const std::lock_guard lock(turns_->mutex_);
  if (turns_->is_free_ || turns_->state_ != State::kAsked) return false;
  turns_->waiters_.push_back(&waiter);
  return true;
}

void Turns::Turn::disarm(detail::Waiter& waiter) noexcept {
  if (!turns_) return;
  const std::lock_guard lock(turns_->mutex_);
  std::erase(turns_->waiters_, &waiter);
}

void Turns::Turn::give_back() noexcept {
  if (!std::exchange(is_user_, false)) return;
  const std::lock_guard lock(turns_->mutex_);
  if (--turns_->users_ == 0) turns_->ring();
}

}  // namespace forebay::comm
