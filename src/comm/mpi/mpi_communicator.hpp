// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes of an MPI job. Code that includes this header links libforebay_mpi;
// libforebay needs no MPI. Other headers of comm/mpi are private to it, except testing.hpp for
// tests.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>

#include <mpi.h>

#include "comm/communicator.hpp"

namespace forebay::comm {

struct MpiOptions {
  /// Longer messages and file transfers are split into parts of this size, because MPI counts in
  /// int. The same on all ranks, from 1 byte to 1 GiB.
  std::uint64_t part_bytes = std::uint64_t{1} << 30U;
  /// Ranks with the same number are on one node; absent: as MPI reports. Given by all ranks or by
  /// none.
  std::optional<std::uint32_t> node = std::nullopt;
};

/// Collective over `application`, an intracommunicator. Duplicates it: no message is sent on the
/// application's communicator, and its error handler is not changed. MPI must be initialized
/// (kUnsupported otherwise), and the application finalizes it. Destroy the Communicator, and all
/// objects made from it, before MPI_Finalize. After it, every call returns kClosed, and remaining
/// resources are left to MPI.
///
/// Errors of MPI become Errors with its text and class. The state of MPI after a failure depends on
/// the implementation; with most, the program can only report the failure.
Result<std::shared_ptr<Communicator>> from_mpi(MPI_Comm application, MpiOptions options = {});

/// The MPI communicator of a Communicator that from_mpi() made, or that was split or duplicated
/// from such; MPI_COMM_NULL for other implementations. `ranks` keeps ownership. Collective calls of
/// other code would interfere with those of `ranks`, and need a duplicate.
MPI_Comm handle_of(const Communicator& ranks) noexcept;

}  // namespace forebay::comm
