// SPDX-License-Identifier: Apache-2.0
#include "flow/mpi_solver_comm.hpp"

#include <exception>
#include <limits>

namespace forebay::flow {

namespace {

constexpr int kTag = 1;

/// MPI counts are int. A larger message of the solver is a bug.
int to_int_count(std::size_t count) {
  if (count > static_cast<std::size_t>(std::numeric_limits<int>::max())) std::terminate();
  return static_cast<int>(count);
}

}  // namespace

MpiSolverComm::MpiSolverComm(MPI_Comm communicator) {
  MPI_Comm_dup(communicator, &communicator_);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
}

MpiSolverComm::~MpiSolverComm() { MPI_Comm_free(&communicator_); }

void MpiSolverComm::start_exchange(std::span<const OutgoingMessage> out,
                                   std::span<const IncomingMessage> in) {
  requests_.clear();
  for (const IncomingMessage& message : in) {
    MPI_Irecv(message.values.data(), to_int_count(message.values.size()), MPI_DOUBLE,
              static_cast<int>(message.from), kTag, communicator_, &requests_.emplace_back());
  }
  for (const OutgoingMessage& message : out) {
    MPI_Isend(message.values.data(), to_int_count(message.values.size()), MPI_DOUBLE,
              static_cast<int>(message.to), kTag, communicator_, &requests_.emplace_back());
  }
}

void MpiSolverComm::finish_exchange() {
  MPI_Waitall(to_int_count(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  requests_.clear();
}

void MpiSolverComm::allgatherv(std::span<const std::byte> local,
                               std::span<const std::size_t> sizes,
                               std::span<std::byte> gathered) {
  std::vector<int> counts;
  std::vector<int> places;
  std::size_t place = 0;
  for (const std::size_t size : sizes) {
    counts.push_back(to_int_count(size));
    places.push_back(to_int_count(place));
    place += size;
  }
  MPI_Allgatherv(local.data(), to_int_count(local.size()), MPI_BYTE, gathered.data(), counts.data(),
                 places.data(), MPI_BYTE, communicator_);
}

}  // namespace forebay::flow
