// SPDX-License-Identifier: Apache-2.0
// The parts of requests that a StorageModel has under way, and the queues they stand in. A part
// stands in one queue at a time and is its own link in it, so that queues take no memory: there are
// as many of them as there are clients, servers and locks.
#pragma once

#include <cstdint>
#include <vector>

#include "model/storage_model.hpp"

namespace forebay::model {

using PartIndex = std::uint32_t;
inline constexpr PartIndex kNoPart = UINT32_MAX;

enum class LockMode : std::uint8_t { kShared, kExclusive };

/// A part of a request on its way.
struct PartState {
  std::uint32_t request = 0;
  std::uint32_t station = 0;
  ClientId client = 0;
  LockMode mode = LockMode::kShared;
  PartIndex next = kNoPart;      ///< behind it in the queue
  ByteRange range = {};          ///< that it locks
  std::uint64_t bytes = 0;       ///< of them, that it moves
  std::uint64_t first_unit = 0;  ///< of the locks it takes, all before `unit` being taken
  std::uint64_t unit = 0;
  std::uint64_t units_end = 0;
  ByteRange lock_range = {};  ///< where locks grow: what it wants of its object
  std::uint64_t lock = 0;     ///< where locks grow: the number of the one that it uses
  Time came = {};             ///< into the queue where it stands
  Time latency = {};          ///< before its turn on the path
  double path_ns = 0;         ///< its turn
  bool takes_path = false;
};

/// All parts. An index stays valid until release(); a reference only until the next add().
class Parts {
 public:
  PartIndex add(const PartState& part) {
    if (free_ == kNoPart) {
      slots_.push_back(part);
      return static_cast<PartIndex>(slots_.size() - 1);
    }
    const PartIndex index = free_;
    free_ = slots_[index].next;
    slots_[index] = part;
    return index;
  }
  void release(PartIndex index) {
    slots_[index].next = free_;
    free_ = index;
  }
  PartState& operator[](PartIndex index) { return slots_[index]; }

 private:
  std::vector<PartState> slots_;
  PartIndex free_ = kNoPart;
};

/// A queue of parts: first come, first served.
class PartQueue {
 public:
  bool empty() const { return first_ == kNoPart; }
  PartIndex first() const { return first_; }
  void push(Parts& parts, PartIndex part) {
    parts[part].next = kNoPart;
    if (empty()) {
      first_ = part;
    } else {
      parts[last_].next = part;
    }
    last_ = part;
  }
  PartIndex pop(Parts& parts) {
    const PartIndex part = first_;
    first_ = parts[part].next;
    return part;
  }

 private:
  PartIndex first_ = kNoPart;
  PartIndex last_ = kNoPart;
};

}  // namespace forebay::model
