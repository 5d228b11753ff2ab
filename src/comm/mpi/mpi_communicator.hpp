// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes of an MPI job. The one private header of the project whose signature
// names MPI: whoever includes it links libforebay_mpi, and libforebay itself never needs MPI.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>

#include <mpi.h>

#include "comm/communicator.hpp"

namespace forebay::comm {

struct MpiOptions {
  /// Longer messages and file transfers are cut into pieces of this size, as MPI counts in int. The
  /// same on all ranks, at most 1 GiB.
  std::uint64_t piece_bytes = std::uint64_t{1} << 30U;
  /// Ranks that give the same number count as being on one node; absent: MPI is asked. Given by all
  /// ranks or by none.
  std::optional<std::uint32_t> node = std::nullopt;
};

/// Collective over `application`, an intracommunicator. Duplicates it: nothing is ever sent in the
/// application's own, and no error handler of it is changed. MPI must be initialised (kUnsupported
/// otherwise) and stays the application's to finalize; destroy the Communicator, and all that came
/// from it, before that: what is left is then left to MPI, and every call gives kClosed.
///
/// Errors of MPI become Errors that hold its text and class. What a failed MPI leaves behind is its
/// own matter; most are of use only for a last message.
Result<std::shared_ptr<Communicator>> from_mpi(MPI_Comm application, MpiOptions options = {});

/// The communicator of MPI inside one that from_mpi() made, or that was split or duplicated from
/// such; MPI_COMM_NULL for other makes. Still owned by it. Collective calls of others on it would
/// get in the way: duplicate it for them.
MPI_Comm handle_of(const Communicator& ranks) noexcept;

}  // namespace forebay::comm
