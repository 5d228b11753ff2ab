// SPDX-License-Identifier: Apache-2.0
// The ranks of an MPI communicator as a team.
#pragma once

#include <vector>

#include <mpi.h>

#include "flow/team.hpp"

namespace forebay::flow {

/// MPI must be initialised; the communicator is duplicated, and freed at the end, which is
/// collective as the beginning is.
class MpiTeam final : public Team {
 public:
  explicit MpiTeam(MPI_Comm communicator);
  ~MpiTeam() override;

  std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(size_); }
  void start(std::span<const OutgoingMessage> out, std::span<const IncomingMessage> in) override;
  void finish() override;
  void gather_bytes(std::span<const std::byte> mine,
                    std::span<const std::size_t> sizes,
                    std::span<std::byte> all) override;

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::vector<MPI_Request> requests_;
};

}  // namespace forebay::flow
