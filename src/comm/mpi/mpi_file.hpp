// SPDX-License-Identifier: Apache-2.0
// A CollectiveFile of MPI-IO. Nothing else of the project calls MPI_File_...
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.hpp"
#include "comm/mpi/mpi_call.hpp"

namespace forebay::comm {

/// The ranks that open a file together.
struct MpiFileRanks {
  std::shared_ptr<Communicator> ranks;  ///< becomes part of the file
  MPI_Comm handle = MPI_COMM_NULL;      ///< the same ranks, as MPI knows them
  std::uint64_t piece_bytes = 0;        ///< the most that one call of MPI moves
};

/// Collective. As Communicator::open_file().
Result<std::unique_ptr<CollectiveFile>> open_mpi_file(const MpiFileRanks& of,
                                                      const std::string& path,
                                                      const CollectiveOpen& how);

}  // namespace forebay::comm
