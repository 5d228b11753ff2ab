// SPDX-License-Identifier: Apache-2.0
// Whether the writer that a file `owner` names still lives. docs/formats/dataset.md has the rules:
// a held lock proves life, a free one death; otherwise the heartbeat decides, for which the next
// writer waits.
#pragma once

#include <forebay/error.hpp>
#include <forebay/log.hpp>

#include <chrono>
#include <string>

#include "base/clock.hpp"
#include "format/owner.hpp"
#include "write/owner_seen.hpp"

namespace forebay::write {

/// The time in which acquire() waits. Tests replace it.
class LeaseClock : public Clock {
 public:
  TimePoint now() const noexcept override { return SteadyClock::shared().now(); }
  /// Blocks for `time`. False: the caller ends the wait, and acquire() fails with kCancelled.
  virtual bool sleep_for(std::chrono::milliseconds time);
  static LeaseClock& shared() noexcept;
};

struct LeaseOptions {
  /// How often a holder sets the time of its file: its heartbeat.
  std::chrono::milliseconds beat_ms{2000};
  /// A holder whose process has ended, as far as this host shows, is dead after so long without a
  /// heartbeat.
  std::chrono::milliseconds silence_ms_min{4000};
  /// Any other holder that does not hold its lock is dead after so long without a heartbeat.
  std::chrono::milliseconds silence_ms_max{15'000};
  /// Until when acquire() waits; then it fails with kLimit. Empty: as long as the silence takes.
  Deadline deadline = {};
  /// Receives a line for each wait longer than 1 s, one each 5 s while it lasts, and one for each
  /// copy that is taken over.
  LogSink* log = &silent_log();
  LeaseClock* clock = &LeaseClock::shared();
};

/// Succeeds if the holder of `found`, the file at `path` in the dataset `folder`, has ended, or
/// does not hold this copy; waits for its silence where the rules say so. kPermission if it lives
/// or may live, kLimit at the deadline, kCancelled if the clock ends the wait. `self` is this
/// process.
Status wait_for_end(const std::string& folder,
                    const std::string& path,
                    const OwnerSeen& found,
                    const format::Owner& self,
                    const LeaseOptions& options);

}  // namespace forebay::write
