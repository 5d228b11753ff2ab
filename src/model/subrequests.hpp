// SPDX-License-Identifier: Apache-2.0
// SubrequestPool, SubrequestQueue: the parts of requests that a StorageModel has in flight, and
// queues of them. A subrequest is in one queue at a time and contains its link. So queues take no
// memory: there is one for each client, server and lock.
#pragma once

#include <cstdint>
#include <vector>

#include "model/storage_model.hpp"

namespace forebay::model {

using SubrequestIndex = std::uint32_t;
inline constexpr SubrequestIndex kNoSubrequest = UINT32_MAX;

enum class LockMode : std::uint8_t { kShared, kExclusive };

/// A part of a request in flight: bytes of one server, a metadata operation, or a sync at one
/// server.
struct Subrequest {
  std::uint32_t request = 0;
  std::uint32_t server = 0;
  ClientId client = 0;
  LockMode mode = LockMode::kShared;
  SubrequestIndex next = kNoSubrequest;  ///< the next one in the queue
  ByteRange range = {};                  ///< locked bytes
  std::uint64_t bytes = 0;               ///< transferred bytes; at most range.size
  std::uint64_t first_unit = 0;          ///< of the locks it takes; all before `unit` are taken
  std::uint64_t unit = 0;
  std::uint64_t units_end = 0;
  ByteRange lock_range = {};  ///< for extent locks: requested range of the object
  std::uint64_t lock = 0;     ///< for extent locks: the number of its lock
  Time queued_at = {};        ///< when it entered its present queue
  Time latency = {};          ///< before its transfer
  double transfer_ns = 0;     ///< duration of its transfer
  bool has_transfer = false;
  bool is_sync = false;
};

/// All subrequests. An index stays valid until release(); a reference only until the next add().
class SubrequestPool {
 public:
  SubrequestIndex add(const Subrequest& subrequest) {
    if (free_ == kNoSubrequest) {
      slots_.push_back(subrequest);
      return static_cast<SubrequestIndex>(slots_.size() - 1);
    }
    const SubrequestIndex index = free_;
    free_ = slots_[index].next;
    slots_[index] = subrequest;
    return index;
  }
  void release(SubrequestIndex index) {
    slots_[index].next = free_;
    free_ = index;
  }
  Subrequest& operator[](SubrequestIndex index) { return slots_[index]; }

 private:
  std::vector<Subrequest> slots_;
  SubrequestIndex free_ = kNoSubrequest;
};

/// A FIFO queue of subrequests.
class SubrequestQueue {
 public:
  bool empty() const { return first_ == kNoSubrequest; }
  SubrequestIndex first() const { return first_; }
  void push(SubrequestPool& parts, SubrequestIndex subrequest) {
    parts[subrequest].next = kNoSubrequest;
    if (empty()) {
      first_ = subrequest;
    } else {
      parts[last_].next = subrequest;
    }
    last_ = subrequest;
  }
  SubrequestIndex pop(SubrequestPool& parts) {
    const SubrequestIndex subrequest = first_;
    first_ = parts[subrequest].next;
    return subrequest;
  }

 private:
  SubrequestIndex first_ = kNoSubrequest;
  SubrequestIndex last_ = kNoSubrequest;
};

}  // namespace forebay::model
