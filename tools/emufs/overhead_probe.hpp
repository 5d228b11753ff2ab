// SPDX-License-Identifier: Apache-2.0
// Measures the overhead of FUSE by requests to our own mount, before any program uses it. Each
// reply has a time that is fixed beforehand; what the caller waits beyond that is overhead.
#pragma once

#include <forebay/error.hpp>

#include <atomic>
#include <memory>

#include "tools/emufs/fuse_overheads.hpp"

namespace forebay::emufs {

struct EmulatedFileSystem;

/// Replaces the model while it measures.
class OverheadProbe {
 public:
  /// From now on, replies are sent `delay` after their requests were received.
  void set_delay(model::Time delay) { delay_ = delay.count(); }

  /// Schedules the reply.
  void schedule(ReplyScheduler& scheduler, model::Time arrival, std::unique_ptr<Reply> reply);

  model::Time arrival() const { return model::Time(arrival_.load()); }
  model::Time due() const { return model::Time(due_.load()); }

 private:
  std::atomic<model::Time::rep> delay_{0};
  std::atomic<model::Time::rep> arrival_{0};
  std::atomic<model::Time::rep> due_{0};
};

/// Overheads of the mount at `mount_point`, measured with a file that is created and removed again.
/// Takes a third of a second. No other program may use the mount meanwhile.
Result<FuseOverheads> measure_fuse_overheads(EmulatedFileSystem& file_system,
                                             const std::string& mount_point);

}  // namespace forebay::emufs
