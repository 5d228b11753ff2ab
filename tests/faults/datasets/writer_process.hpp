// SPDX-License-Identifier: Apache-2.0
// The program dataset_writer as a child: what it has promised so far, its end, and its killing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/descriptor.hpp"

namespace forebay::faults {

struct WriterTask {
  std::string path;
  std::uint64_t contents_seed = 0;
  std::uint64_t way_seed = 0;
  std::uint64_t steps = 0;
  std::string marks = {};
};

/// Killed at the end, if it lives.
class WriterProcess {
 public:
  explicit WriterProcess(const WriterTask& task);
  ~WriterProcess();
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;

  pid_t id() const { return process_; }
  /// Steps of which it had the receipt, in their order; all that it said up to now.
  const std::vector<std::uint64_t>& promised() const { return promised_; }
  /// Returns when it has promised so many, has ended, or this time has passed.
  void wait_for(std::size_t promises, std::chrono::microseconds time_max);
  /// SIGKILL, and everything it had said before.
  void kill();
  /// Empty if it ended well within a minute; else what it complained of.
  std::string complaint_at_end();

 private:
  bool read_promises();
  void reap();

  pid_t process_ = -1;
  int status_ = 0;
  Descriptor promises_;
  Descriptor complaints_;
  std::string partial_;
  bool has_said_all_ = false;
  std::vector<std::uint64_t> promised_;
};

}  // namespace forebay::faults
