// SPDX-License-Identifier: Apache-2.0
// ConcurrencyLimiter: a distributed semaphore, split into groups of ranks with one permit each. A
// service thread on each rank passes permits by messages, independent of calls of the application.
// A permit that others wait for expires. So a rank that died, or computes while it holds a permit,
// blocks no other rank.
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

/// Splits the ranks into `permit_count` groups of consecutive ranks, each with one permit. The
/// first rank of a group is its permit server: it holds the queue, and grants the permit to one
/// rank at a time, in the order of requests. If the server ends or cannot be reached, its group
/// continues without a limit.
class ConcurrencyLimiter final : private MessageHandler {
 public:
  struct Setup {
    std::uint32_t permit_count = 1;  ///< number of permits, at least 1; the same on all ranks
    /// A permit expires this long after its grant, or once another rank requests it, whichever is
    /// later.
    std::chrono::milliseconds lease{1000};
  };
  /// Collective; `ranks` is not used afterwards. The same outcome on all ranks.
  static Result<std::shared_ptr<ConcurrencyLimiter>> open(Communicator& ranks,
                                                          const LinkOptions& links,
                                                          const Setup& setup);
  /// Calls stop().
  ~ConcurrencyLimiter() override;
  ConcurrencyLimiter(const ConcurrencyLimiter&) = delete;
  ConcurrencyLimiter& operator=(const ConcurrencyLimiter&) = delete;

  /// This rank requests no more permits. Its thread ends. On a permit server it ends after all
  /// other ranks of the group. Does not block. Any thread.
  void leave() noexcept;
  /// True once the thread has ended its work. Any thread.
  bool has_ended() const noexcept;
  /// Ends and joins the thread; waiters of this rank continue without a permit. One thread.
  void stop() noexcept;

  /// Use of the rank's permit by one request. All requests of a rank share its permit. One thread
  /// at a time.
  class Permit {
   public:
    /// `limiter` null: no limit.
    explicit Permit(std::shared_ptr<ConcurrencyLimiter> limiter) noexcept
        : limiter_(std::move(limiter)) {}
    ~Permit() { release(); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

    /// True if this rank holds a permit now, or needs none; otherwise requests one. Does not block.
    /// Call it again before each operation that needs a permit.
    bool try_acquire();
    /// Registers `waiter` for one signal, when try_acquire() may be true. False, without
    /// registration, if try_acquire() should be called now.
    bool arm(detail::Waiter& waiter);
    void disarm(detail::Waiter& waiter) noexcept;
    /// Ends the use by this request. Further calls do nothing.
    void release() noexcept;

   private:
    const std::shared_ptr<ConcurrencyLimiter> limiter_;
    bool is_registered_ = false;
  };

 private:
  enum class MessageKind : std::uint32_t {
    kHello,    ///< to the server, first: connects, so that the server detects the end of this rank
    kRequest,  ///< to the server: requests the permit
    kGrant,    ///< to the new holder: the number of this grant
    kRecall,   ///< to the holder: other ranks wait for the permit
    kReturn,   ///< to the server, after kRecall or leave(), once no request uses the permit
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
  void send(Rank to, MessageKind kind, std::uint64_t grant_id);
  void signal_all();

  Status check(Rank from, const LinkHeader& header) const;
  Result<std::span<std::byte>> payload_buffer(Rank from, const LinkHeader& header) override;
  Status handle_message(Rank from,
                        const LinkHeader& header,
                        std::span<const std::byte> payload) override;
  void handle_peer_lost(Rank peer, const Error& why) override;

  // Used on the permit server only.
  void handle_request(Rank from);
  void handle_return(Rank from, std::uint64_t grant_id);
  void grant_next();
  void expire_permit(TimePoint now);

  const Setup setup_;
  const Rank me_;
  const Rank server_;
  const std::uint32_t group_ranks_;
  const Descriptor wakeup_;

  // Used by the service thread only. The members below transport_ are the state of the permit
  // server.
  std::unique_ptr<MessageTransport> transport_;
  std::set<Rank> departed_;
  std::deque<Rank> queue_;
  std::optional<Rank> holder_;
  std::uint64_t grant_id_ = 0;
  TimePoint granted_at_ = {};

  mutable std::mutex mutex_;  // guards the members below, except thread_
  State state_ = State::kNone;
  bool is_request_pending_ = false;  ///< not yet sent to the server
  bool is_unlimited_ = false;        ///< no permit is needed any more
  bool is_recalled_ = false;         ///< other ranks wait for the permit of this rank
  bool is_leaving_ = false;
  bool is_stopping_ = false;
  bool has_ended_ = false;
  std::uint64_t own_grant_id_ = 0;
  std::uint32_t user_count_ = 0;  ///< Permit objects in use
  std::vector<detail::Waiter*> waiters_;
  std::thread thread_;
};

}  // namespace forebay::comm
