// SPDX-License-Identifier: Apache-2.0
// RequestPool: the requests that a StorageModel has in flight. Slots are reused, so a RequestId
// includes the generation of its slot. An old RequestId refers to no request.
#pragma once

#include <cstdint>
#include <vector>

#include "base/checked_cast.hpp"
#include "model/storage_model.hpp"
#include "model/subrequests.hpp"

namespace forebay::model {

struct RequestState {
  Request request;
  Time submitted = {};
  std::uint32_t generation = 0;  ///< of the slot
  std::uint64_t pending_subrequests = 0;
  SubrequestQueue dropped;
  bool is_in_flight = false;
  bool is_cancelled = false;
};

/// All requests. A slot stays valid until release(); a reference only until the next add().
class RequestPool {
 public:
  std::uint32_t add(const Request& request, Time submitted) {
    const std::uint32_t slot = free_slot();
    const std::uint32_t generation = slots_[slot].generation;
    slots_[slot] = {
        .request = request, .submitted = submitted, .generation = generation, .is_in_flight = true};
    ++in_flight_;
    return slot;
  }
  void release(std::uint32_t slot) {
    ++slots_[slot].generation;
    slots_[slot].is_in_flight = false;
    free_.push_back(slot);
    --in_flight_;
  }
  RequestId id_of(std::uint32_t slot) const {
    return RequestId{std::uint64_t{slots_[slot].generation} << 32U | slot};
  }
  static std::uint32_t slot_of(RequestId id) { return static_cast<std::uint32_t>(id); }
  static std::uint32_t generation_of(RequestId id) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) >> 32U);
  }
  bool is_in_flight(std::uint32_t slot, std::uint32_t generation) const {
    if (slot >= slots_.size()) return false;
    return slots_[slot].is_in_flight && slots_[slot].generation == generation;
  }
  RequestState& operator[](std::uint32_t slot) { return slots_[slot]; }
  std::uint64_t in_flight() const { return in_flight_; }

 private:
  std::uint32_t free_slot() {
    if (free_.empty()) {
      slots_.emplace_back();
      return checked_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }

  std::vector<RequestState> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t in_flight_ = 0;
};

}  // namespace forebay::model
