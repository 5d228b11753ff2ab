// SPDX-License-Identifier: Apache-2.0
// A message of any size over MPI, which counts in int: one MPI message for each part
// (MpiOptions::part_bytes), in order, with one tag.
#pragma once

#include <memory>
#include <span>

#include "comm/communicator.hpp"
#include "comm/mpi/mpi_call.hpp"

namespace forebay::comm {

/// As Communicator::send().
MessageRequest start_send(std::shared_ptr<const MpiCommHandle> mpi_comm,
                          std::span<const std::byte> bytes,
                          Rank to,
                          Tag tag);

/// As Communicator::receive().
MessageRequest start_receive(std::shared_ptr<const MpiCommHandle> mpi_comm,
                             std::span<std::byte> into,
                             Rank from,
                             Tag tag);

}  // namespace forebay::comm
