// SPDX-License-Identifier: Apache-2.0
// SolverComm of the ranks of an MPI communicator.
#pragma once

#include <vector>

#include <mpi.h>

#include "flow/solver_comm.hpp"

namespace forebay::flow {

/// Requires initialized MPI. Constructor and destructor are collective: they duplicate the
/// communicator and free the copy.
class MpiSolverComm final : public SolverComm {
 public:
  explicit MpiSolverComm(MPI_Comm communicator);
  ~MpiSolverComm() override;

  std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(size_); }
  void start_exchange(std::span<const OutgoingMessage> out,
                      std::span<const IncomingMessage> in) override;
  void finish_exchange() override;
  void allgatherv(std::span<const std::byte> local,
                  std::span<const std::size_t> sizes,
                  std::span<std::byte> gathered) override;

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::vector<MPI_Request> requests_;
};

}  // namespace forebay::flow
