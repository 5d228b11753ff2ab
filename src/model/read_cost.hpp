// SPDX-License-Identifier: Apache-2.0
// read_cost(): time and memory of reading a file by the tasks of a job, in closed form: by a
// session, whose agents read for all tasks, or by each task itself.
#pragma once

#include <cstdint>

#include "model/machine.hpp"

namespace forebay::model {

/// A file that the tasks of a job read once, each an equal part of it.
struct ReadJob {
  std::uint64_t bytes = 0;
  std::uint64_t tasks = 1;
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;
  /// Cost of the request of one task in its process: scheduling, and the message with the reply.
  double task_us = 3;
};

enum class ReadMethod : std::uint8_t {
  kSession,  ///< agents read in file order, with several requests in flight
  kPerCall,  ///< each task opens the file, reads its part with one call, and closes it
  kShared,   ///< the same with one descriptor for each rank
};

struct ReadShape {
  ReadMethod method = ReadMethod::kSession;
  // Of kSession:
  std::uint32_t agents = 1;
  std::uint64_t splinter_bytes = 256_KiB;
  std::uint64_t request_bytes = 1_MiB;
  std::uint32_t queue_depth = 8;
};

/// Times in microseconds.
struct ReadCost {
  double open_us = 0;
  double read_us = 0;     ///< until the last byte is in memory
  double deliver_us = 0;  ///< copies and messages to the tasks, of the busiest rank
  double total_us = 0;    ///< a session delivers while it reads; tasks that read need no delivery
  std::uint64_t memory_bytes = 0;  ///< of one agent: bytes in flight, and as many being delivered
};

/// All counts must be at least 1. A rank runs one task at a time, and a task that reads blocks its
/// rank.
ReadCost read_cost(const Machine& machine, const ReadJob& job, const ReadShape& shape);

}  // namespace forebay::model
