// SPDX-License-Identifier: Apache-2.0
// A message of any size over MPI, which counts in int: as many messages as there are pieces, in
// order, with one tag.
#pragma once

#include <memory>
#include <span>

#include "comm/communicator.hpp"
#include "comm/mpi/mpi_call.hpp"

namespace forebay::comm {

Transfer start_send(std::shared_ptr<const MpiGroup> group,
                    std::span<const std::byte> bytes,
                    Rank to,
                    Tag tag);

Transfer start_receive(std::shared_ptr<const MpiGroup> group,
                       std::span<std::byte> into,
                       Rank from,
                       Tag tag);

}  // namespace forebay::comm
