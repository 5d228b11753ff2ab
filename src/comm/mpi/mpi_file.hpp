// SPDX-License-Identifier: Apache-2.0
// A CollectiveFile on MPI-IO. No other code of the library calls MPI_File_ functions.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.hpp"
#include "comm/mpi/mpi_call.hpp"

namespace forebay::comm {

/// The ranks that open a file together.
struct MpiFileComm {
  std::shared_ptr<Communicator> ranks;  ///< kept by the file
  MPI_Comm handle = MPI_COMM_NULL;      ///< the MPI communicator of the same ranks
  std::uint64_t part_bytes = 0;         ///< limit of one MPI call
};

/// Collective. As Communicator::open_file().
Result<std::unique_ptr<CollectiveFile>> open_mpi_file(const MpiFileComm& file_comm,
                                                      const std::string& path,
                                                      const CollectiveOpenOptions& options);

}  // namespace forebay::comm
