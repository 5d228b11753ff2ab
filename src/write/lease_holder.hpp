// SPDX-License-Identifier: Apache-2.0
// Decides whether the holder that a file `owner` names is alive. Usually a held lock proves that it
// lives, and a free lock that it has ended. Otherwise the next holder waits for a heartbeat.
// docs/formats/dataset.md#owner has the rules and their exceptions.
#pragma once

#include <forebay/error.hpp>
#include <forebay/log.hpp>

#include <chrono>
#include <string>

#include "base/clock.hpp"
#include "format/lease_holder.hpp"
#include "write/lease_file_state.hpp"

namespace forebay::write {

/// The clock by which acquire() waits. Tests replace it.
class LeaseClock : public Clock {
 public:
  TimePoint now() const noexcept override { return SteadyClock::shared().now(); }
  /// Blocks for `time`. Returns false to end the wait: acquire() then fails with kCancelled.
  virtual bool sleep_for(std::chrono::milliseconds time);
  static LeaseClock& shared() noexcept;
};

struct LeaseOptions {
  /// Interval at which a holder sets the time of its file: its heartbeat.
  std::chrono::milliseconds heartbeat_ms{2000};
  /// A holder whose process has ended, as far as this host shows, is dead after this time without a
  /// heartbeat.
  std::chrono::milliseconds heartbeat_timeout_ms_min{4000};
  /// Any other holder that does not hold its lock is dead after this time without a heartbeat.
  std::chrono::milliseconds heartbeat_timeout_ms_max{15'000};
  /// Time until which acquire() waits; then it fails with kLimit. Empty: it waits for the whole
  /// heartbeat timeout.
  Deadline deadline = {};
  /// Receives a line for each wait longer than 1 s, and one more every 5 s while it lasts. Also
  /// receives one for each copied dataset directory that is taken over: its `owner` file names a
  /// lease held elsewhere.
  LogSink* log = &silent_log();
  LeaseClock* clock = &LeaseClock::shared();
};

/// Succeeds if the holder of `found`, the file at `path` in the dataset `directory`, has ended, or
/// holds the lease of the original, of which this directory is a copy. Waits for heartbeats where
/// the rules require it. kPermission if the holder is or may be alive, kLimit at the deadline,
/// kCancelled if the clock ends the wait. `self` is this process.
Status wait_for_holder(const std::string& directory,
                       const std::string& path,
                       const LeaseFileState& found,
                       const format::LeaseHolder& self,
                       const LeaseOptions& options);

}  // namespace forebay::write
