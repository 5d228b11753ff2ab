// SPDX-License-Identifier: Apache-2.0
// The requests that a StorageModel has under way. Slots are used again, so an identity says which
// use of its slot it means: what asks for an old one asks for nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "base/checked_cast.hpp"
#include "model/parts.hpp"
#include "model/storage_model.hpp"

namespace forebay::model {

struct RequestState {
  Request request;
  Time submitted = {};
  std::uint32_t generation = 0;  ///< of the slot
  std::uint64_t parts_left = 0;
  PartQueue lost;
  bool is_under_way = false;
  bool is_forgotten = false;
};

/// All requests. A slot stays valid until release(); a reference only until the next add().
class Requests {
 public:
  std::uint32_t add(const Request& request, Time submitted) {
    const std::uint32_t slot = free_slot();
    const std::uint32_t generation = slots_[slot].generation;
    slots_[slot] = {
        .request = request, .submitted = submitted, .generation = generation, .is_under_way = true};
    ++under_way_;
    return slot;
  }
  void release(std::uint32_t slot) {
    ++slots_[slot].generation;
    slots_[slot].is_under_way = false;
    free_.push_back(slot);
    --under_way_;
  }
  RequestId id_of(std::uint32_t slot) const {
    return RequestId{std::uint64_t{slots_[slot].generation} << 32U | slot};
  }
  static std::uint32_t slot_of(RequestId id) { return static_cast<std::uint32_t>(id); }
  static std::uint32_t generation_of(RequestId id) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) >> 32U);
  }
  bool is_under_way(std::uint32_t slot, std::uint32_t generation) const {
    if (slot >= slots_.size()) return false;
    return slots_[slot].is_under_way && slots_[slot].generation == generation;
  }
  RequestState& operator[](std::uint32_t slot) { return slots_[slot]; }
  std::uint64_t under_way() const { return under_way_; }

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
  std::uint64_t under_way_ = 0;
};

}  // namespace forebay::model
