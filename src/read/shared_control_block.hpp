// SPDX-License-Identifier: Apache-2.0
// The memory of a session control block that clients on the node map.
#pragma once

#include <forebay/error.hpp>

#include <memory>

#include "read/local_session.hpp"
#include "shm/session_control_block.hpp"
#include "shm/shared_memory.hpp"

namespace forebay::read {

/// A control block that other processes can map.
struct SharedControlBlock {
  shm::SharedMemory table;
  shm::SharedMemory ref_counts;
};

/// Creates the memory of a control block. `kept` receives a reference to it; its descriptors are
/// for clients.
Result<ControlBlockMemory> create_shared_control_block(const shm::ControlBlockShape& shape,
                                                       std::shared_ptr<SharedControlBlock>& kept);

}  // namespace forebay::read
