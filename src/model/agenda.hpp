// SPDX-License-Identifier: Apache-2.0
// What happens when, of a StorageModel: the events to come, the earliest first. Events of the same
// time happen in the order in which they were noted, so that a run can be repeated.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "model/storage_model.hpp"

namespace forebay::model {

enum class EventKind : std::uint8_t {
  kArrival,       ///< of the request `subject`
  kForgotten,     ///< the request `subject` of generation `place`
  kCondition,     ///< the condition `subject` holds for the station `place`
  kLatencyOver,   ///< of the part `subject`, at the station `place`
  kTransferOver,  ///< of the part on the path of the station `place`
  kLinkOver,      ///< of the part on the link `place`
  kLockChanged,   ///< the part `subject` has the lock that it took from others
  kLockGivenUp,   ///< the lock `subject` of an object that was called back is gone
  kAnswered,      ///< the request `subject`
};

struct Event {
  Time at = {};
  EventKind kind = EventKind::kArrival;
  std::uint32_t place = 0;
  std::uint32_t subject = 0;
};

class Agenda {
 public:
  void note(const Event& event) { entries_.push({event, ++noted_}); }
  bool empty() const { return entries_.empty(); }
  const Event& next() const { return entries_.top().event; }
  Event take() {
    const Event event = next();
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
  std::uint64_t noted_ = 0;
};

}  // namespace forebay::model
