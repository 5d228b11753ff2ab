// SPDX-License-Identifier: Apache-2.0
// The program dataset_writer as a child process: its acknowledged steps, its end, and killing it.
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
  std::uint64_t config_seed = 0;
  std::uint64_t steps = 0;
  std::string marks = {};
};

/// Killed at the end, if it is running.
class WriterProcess {
 public:
  explicit WriterProcess(const WriterTask& task);
  ~WriterProcess();
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;

  pid_t id() const { return process_; }
  /// Steps whose receipts it has reported so far, in their order.
  const std::vector<std::uint64_t>& acknowledged() const { return acknowledged_; }
  /// Returns when it has reported this number of steps, has ended, or `time_max` has passed.
  void wait_for(std::size_t acknowledged, std::chrono::microseconds time_max);
  /// Sends SIGKILL, then reads all that it reported before.
  void kill();
  /// Empty if it ended with success within a minute; else its error output.
  std::string error_at_exit();

 private:
  bool read_output();
  void reap();

  pid_t process_ = -1;
  int status_ = 0;
  Descriptor output_;
  Descriptor errors_;
  std::string partial_;
  bool is_output_closed_ = false;
  std::vector<std::uint64_t> acknowledged_;
};

}  // namespace forebay::faults
