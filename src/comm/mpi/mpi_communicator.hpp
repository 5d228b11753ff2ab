// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes of an MPI job. The only private header whose signatures name MPI: code
// that includes it links libforebay_mpi, and libforebay needs no MPI.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>

#include <mpi.h>

#include "comm/communicator.hpp"

namespace forebay::comm {

struct MpiOptions {
  /// Longer messages and file transfers are split into pieces of this size, as MPI counts in int.
  /// The same on all ranks, at most 1 GiB.
  std::uint64_t piece_bytes = std::uint64_t{1} << 30U;
  /// Ranks with the same number count as being on one node; absent: MPI decides. Given by all ranks
  /// or by none.
  std::optional<std::uint32_t> node = std::nullopt;
};

/// Collective over `application`, an intracommunicator. Duplicates it: nothing is ever sent on the
/// application's communicator, and none of its error handlers is changed. MPI must be initialized
/// (kUnsupported otherwise), and the application finalizes it. Destroy the Communicator, and all
/// objects made from it, before that: MPI frees what is left then, and every call returns kClosed.
///
/// Errors of MPI become Errors with its text and class. The state of MPI after a failure depends on
/// the MPI; with most only a last message is possible.
Result<std::shared_ptr<Communicator>> from_mpi(MPI_Comm application, MpiOptions options = {});

/// The MPI communicator inside a Communicator that from_mpi() made, or that was split or duplicated
/// from such; MPI_COMM_NULL for other implementations. Still owned by it. Collective calls of other
/// code on it would interfere: duplicate it for them.
MPI_Comm handle_of(const Communicator& ranks) noexcept;

}  // namespace forebay::comm
