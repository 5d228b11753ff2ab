// SPDX-License-Identifier: Apache-2.0
// Turns: so many ranks at a time may do something, and no more. A turn is passed on by letters
// between threads that do nothing else, so nobody has to be inside a call for others to get theirs;
// and it ends by itself after a while, so that whoever has died, or computes with a turn in its
// hand, stops nobody.
#pragma once

#include <forebay/error.hpp>
#include <forebay/future.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"
#include "comm/communicator.hpp"
#include "comm/post_office.hpp"

namespace forebay::comm {

/// Ranks are cut into as many groups in a row as may go on at once. Of each group one rank has a
/// turn, in the order in which they ask; the first of the group keeps the list. If it goes, or
/// cannot be reached, its group goes on without turns.
class Turns final : private PostReceiver {
 public:
  struct Setup {
    std::uint32_t at_once = 1;  ///< at least 1; the same on all ranks
    /// How long a rank has a turn that others wait for.
    std::chrono::milliseconds lease{1000};
  };
  /// Collective; `ranks` is not used afterwards. The same outcome on all ranks.
  static Result<std::shared_ptr<Turns>> open(Communicator& ranks,
                                             const LinkOptions& links,
                                             const Setup& setup);
  /// As stop().
  ~Turns() override;
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// This rank wants no more turns. Its thread goes on for as long as others of its group want
  /// some, if it keeps their list. Any thread.
  void leave() noexcept;
  bool has_ended() const noexcept;
  /// Ends at once; those who wait here go on without a turn. One thread.
  void stop() noexcept;

  /// What one request has to do with turns. One thread at a time, as a request.
  class Turn {
   public:
    /// `turns` null: there is no need to wait for any.
    explicit Turn(std::shared_ptr<Turns> turns) noexcept : turns_(std::move(turns)) {}
    ~Turn() { give_back(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// Whether this rank has a turn now; asks for one if not. To be called again before each thing
    /// that needs one.
    bool has();
    /// Asks for one signal when has() may be true; false if it may be right now.
    bool arm(detail::Waiter& waiter);
    void disarm(detail::Waiter& waiter) noexcept;
    /// This request is done with it. Nothing happens the second time.
    void give_back() noexcept;

   private:
    const std::shared_ptr<Turns> turns_;
    bool is_user_ = false;
  };

 private:
  enum class Letter : std::uint32_t {
    kHello,   ///< to the keeper, at the beginning: so that its end is noticed
    kAsk,     ///< to the keeper: a turn, please
    kGrant,   ///< the answer: the number of the turn
    kWanted,  ///< to who has it: others wait for it
    kBack,    ///< the answer, when no request needs it: its number
    kOver,    ///< to who had it: it has ended
  };
  enum class State : std::uint8_t { kNone, kAsked, kHeld };

  Turns(std::unique_ptr<PostOffice> office, const Setup& setup, Descriptor bell);
  void run() noexcept;
  void wait() const;
  void ring() const noexcept;
  bool is_over();
  void say_what_changed();
  void free_all();
  void send(Rank to, Letter letter, std::uint64_t number);
  void signal_all();

  Status check(Rank from, const LinkHeader& header) const;
  Result<std::span<std::byte>> place(Rank from, const LinkHeader& header) override;
  Status received(Rank from, const LinkHeader& header, std::span<const std::byte> payload) override;
  void lost(Rank peer, const Error& why) override;

  // The keeper's part.
  void asked(Rank from);
  void came_back(Rank from, std::uint64_t number);
  void grant_next();
  void end_late_turn(TimePoint now);

  const Setup setup_;
  const Rank me_;
  const Rank keeper_;
  const std::uint32_t group_ranks_;
  const Descriptor bell_;
  std::unique_ptr<PostOffice> office_;  // the thread's alone, as all of the keeper's
  std::set<Rank> gone_;
  std::deque<Rank> queue_;
  std::optional<Rank> holder_;
  std::uint64_t number_ = 0;
  TimePoint granted_at_ = {};

  mutable std::mutex mutex_;
  State state_ = State::kNone;
  bool is_asked_ = false;   ///< and the keeper was not told yet
  bool is_free_ = false;    ///< nobody waits for turns any more
  bool is_wanted_ = false;  ///< the turn, by others
  bool is_leaving_ = false;
  bool is_stopping_ = false;
  bool has_ended_ = false;
  std::uint64_t own_number_ = 0;
  std::uint32_t users_ = 0;
  std::vector<detail::Waiter*> waiters_;
  std::thread thread_;
};

}  // namespace forebay::comm
