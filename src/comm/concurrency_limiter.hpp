// SPDX-License-Identifier: Apache-2.0
// ConcurrencyLimiter: a distributed semaphore that lets a limited number of ranks do something at a
// time. Dedicated threads pass permits by messages, so no rank needs to be inside a call for others
// to get a permit. A permit that others wait for expires, so a rank that died, or computes while it
// holds a permit, blocks no other rank.
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
#include "comm/message_transport.hpp"

namespace forebay::comm {

/// Splits the ranks into `at_once` groups of consecutive ranks. One rank of each group holds a
/// permit, in the order of requests. The first rank of a group is its permit server and holds the
/// queue. If the server leaves or cannot be reached, its group continues without permits.
class ConcurrencyLimiter final : private MessageHandler {
 public:
  struct Setup {
    std::uint32_t at_once = 1;  ///< permits; at least 1; the same on all ranks
    /// How long a rank may hold a permit that others wait for.
    std::chrono::milliseconds lease{1000};
  };
  /// Collective; `ranks` is not used afterwards. The same outcome on all ranks.
  static Result<std::shared_ptr<ConcurrencyLimiter>> open(Communicator& ranks,
                                                          const LinkOptions& links,
                                                          const Setup& setup);
  /// As stop().
  ~ConcurrencyLimiter() override;
  ConcurrencyLimiter(const ConcurrencyLimiter&) = delete;
  ConcurrencyLimiter& operator=(const ConcurrencyLimiter&) = delete;

  /// This rank requests no more permits. Its thread continues while other ranks of the group may
  /// request permits, if this rank is their permit server. Any thread.
  void leave() noexcept;
  bool has_ended() const noexcept;
  /// Ends at once; waiters of this rank continue without a permit. One thread.
  void stop() noexcept;

  /// A request's use of permits. One thread at a time, as a request.
  class Permit {
   public:
    /// `limiter` null: no limit.
    explicit Permit(std::shared_ptr<ConcurrencyLimiter> limiter) noexcept
        : limiter_(std::move(limiter)) {}
    ~Permit() { release(); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

    /// True if this rank holds a permit now; requests one if not. Call again before each operation
    /// that needs a permit.
    bool has();
    /// Requests one signal when has() may be true; false if it may be true right now.
    bool arm(detail::Waiter& waiter);
    void disarm(detail::Waiter& waiter) noexcept;
    /// This request needs the permit no more. Calling it again does nothing.
    void release() noexcept;

   private:
    const std::shared_ptr<ConcurrencyLimiter> limiter_;
    bool is_registered_ = false;
  };

 private:
  enum class MessageKind : std::uint32_t {
    kHello,    ///< to the server, at the start: so that it notices when this rank ends
    kRequest,  ///< to the server: requests a permit
    kGrant,    ///< reply of the server: the number of the permit
    kRecall,   ///< to the holder: other ranks wait for the permit
    kReturn,   ///< reply to a recall, once no request needs the permit: its number
    kExpired,  ///< to the former holder: its permit has expired
  };
  enum class State : std::uint8_t { kNone, kRequested, kHeld };

  ConcurrencyLimiter(std::unique_ptr<MessageTransport> transport,
                     const Setup& setup,
                     Descriptor wakeup);
  void run() noexcept;
  void wait() const;
  void wake() const noexcept;
  bool should_stop();
  void send_changes();
  void release_waiters();
  void send(Rank to, MessageKind kind, std::uint64_t permit_id);
  void signal_all();

  Status check(Rank from, const LinkHeader& header) const;
  Result<std::span<std::byte>> payload_buffer(Rank from, const LinkHeader& header) override;
  Status handle_message(Rank from,
                        const LinkHeader& header,
                        std::span<const std::byte> payload) override;
  void handle_peer_lost(Rank peer, const Error& why) override;

  // Used on the permit server only.
  void handle_request(Rank from);
  void handle_return(Rank from, std::uint64_t permit_id);
  void grant_next();
  void expire_permit(TimePoint now);

  const Setup setup_;
  const Rank me_;
  const Rank server_;
  const std::uint32_t group_ranks_;
  const Descriptor wakeup_;
  std::unique_ptr<MessageTransport> transport_;  // the thread's alone, as all members of the server
  std::set<Rank> departed_;
  std::deque<Rank> queue_;
  std::optional<Rank> holder_;
  std::uint64_t permit_id_ = 0;
  TimePoint granted_at_ = {};

  mutable std::mutex mutex_;
  State state_ = State::kNone;
  bool is_request_pending_ = false;  ///< not yet sent to the server
  bool is_unlimited_ = false;        ///< permits are not needed any more
  bool is_recalled_ = false;         ///< other ranks wait for this permit
  bool is_leaving_ = false;
  bool is_stopping_ = false;
  bool has_ended_ = false;
  std::uint64_t own_permit_id_ = 0;
  std::uint32_t user_count_ = 0;
  std::vector<detail::Waiter*> waiters_;
  std::thread thread_;
};

}  // namespace forebay::comm
