// SPDX-License-Identifier: Apache-2.0
// AccessObserver: receives the requests of a session's tasks as they are made, such as the
// prefetcher of a session with Mode::kOnDemand.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>
#include <forebay/session.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace forebay::read {

/// State of the bytes of a request when it is made.
enum class AccessOutcome : std::uint8_t {
  kHit,      ///< all are resident
  kLate,     ///< those that are not resident belong to splinters that are requested or loading
  kPartial,  ///< some are missing in a splinter of which other bytes are resident
  kMiss,     ///< some belong to absent splinters
};

class AccessObserver {
 public:
  AccessObserver() = default;
  AccessObserver(const AccessObserver&) = delete;
  AccessObserver& operator=(const AccessObserver&) = delete;
  virtual ~AccessObserver() = default;

  /// A task requests `range`; its own loads are queued already. Any thread. Must not block.
  virtual void observe(const ByteRange& range, AccessOutcome outcome) noexcept = 0;

  // As Session::hint() and preexecute(). Any thread.
  virtual Status hint(std::string_view signature) = 0;
  virtual Status hint(std::span<const ByteRange> reads) = 0;
  virtual Status preexecute(NextRead next_read) = 0;
  virtual Status preexecute(std::string_view name, std::span<const std::byte> argument) = 0;

  /// The first reads of the session, in order.
  virtual std::vector<ByteRange> first_reads() const = 0;
  /// Adds its counts. Any thread.
  virtual void add_counts(PrefetchReport& report) const = 0;
  /// The session is closed. Ends the function of preexecute(): waits at most a second for it.
  virtual void stop() noexcept = 0;
};

}  // namespace forebay::read
