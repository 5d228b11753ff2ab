// SPDX-License-Identifier: Apache-2.0
// EventQueue: the pending events of a StorageModel, earliest first. Events at the same time are
// handled in the order of push(), so a run can be repeated.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "model/storage_model.hpp"

namespace forebay::model {

enum class EventKind : std::uint8_t {
  kArrival,          ///< of the request `entity`
  kCancelled,        ///< of the request `entity`, whose generation is `resource`
  kServerCondition,  ///< the condition `entity` applies to the server `resource`
  kLatencyDone,      ///< of the subrequest `entity`, at the server `resource`
  kTransferDone,     ///< of the subrequest on the channel of the server `resource`
  kCommitDone,       ///< of the server `resource`
  kLinkDone,         ///< of the subrequest on the link `resource`
  kLockTransferred,  ///< the subrequest `entity` has the lock that it takes from other clients
  kLockCancelled,    ///< the extent lock that was called back with the number `entity` is released
  kResponse,         ///< of the request `entity`
};

struct Event {
  Time at = {};
  EventKind kind = EventKind::kArrival;
  std::uint32_t resource = 0;
  std::uint32_t entity = 0;
};

class EventQueue {
 public:
  void push(const Event& event) { entries_.push({event, ++pushed_}); }
  bool empty() const { return entries_.empty(); }
  const Event& front() const { return entries_.top().event; }
  Event pop() {
    const Event event = front();
    entries_.pop();
    return event;
  }

 private:
  struct Entry {
    Event event;
    std::uint64_t order;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.event.at != b.event.at ? a.event.at > b.event.at : a.order > b.order;
    }
  };
  std::priority_queue<Entry, std::vector<Entry>, Later> entries_;
  std::uint64_t pushed_ = 0;
};

}  // namespace forebay::model
