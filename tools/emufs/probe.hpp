// SPDX-License-Identifier: Apache-2.0
// Measures what FUSE itself takes, by requests to our own mount before anybody else knows it: each
// is answered at a moment that is fixed beforehand, and what its caller waits beyond that is
// FUSE's.
#pragma once

#include <forebay/error.hpp>

#include <atomic>
#include <memory>

#include "tools/emufs/allowances.hpp"

namespace forebay::emufs {

struct FileSystem;

/// Stands in for the model while it measures.
class Probe {
 public:
  /// Answers are sent so much after their requests were taken, from now on.
  void set_delay(model::Time delay) { delay_ = delay.count(); }

  /// Answers in time.
  void take(Timekeeper& time, model::Time taken, std::unique_ptr<Answer> answer);

  model::Time taken() const { return model::Time(taken_.load()); }
  model::Time due() const { return model::Time(due_.load()); }

 private:
  std::atomic<model::Time::rep> delay_{0};
  std::atomic<model::Time::rep> taken_{0};
  std::atomic<model::Time::rep> due_{0};
};

/// Of the mount at `mount_point`, through a file that is made and removed again. Takes a third of a
/// second. Nobody else may use the mount meanwhile.
Result<Allowances> measure_allowances(FileSystem& file_system, const std::string& mount_point);

}  // namespace forebay::emufs
