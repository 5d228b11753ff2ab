// SPDX-License-Identifier: Apache-2.0
#include "flow/mpi_team.hpp"

#include <exception>
#include <limits>

namespace forebay::flow {

namespace {

constexpr int kTag = 1;

/// MPI counts in int. A message of a solver that does not fit is our bug.
int counted(std::size_t count) {
  if (count > static_cast<std::size_t>(std::numeric_limits<int>::max())) std::terminate();
  return static_cast<int>(count);
}

}  // namespace

MpiTeam::MpiTeam(MPI_Comm communicator) {
  MPI_Comm_dup(communicator, &communicator_);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
}

MpiTeam::~MpiTeam() { MPI_Comm_free(&communicator_); }

void MpiTeam::start(std::span<const OutgoingMessage> out, std::span<const IncomingMessage> in) {
  requests_.clear();
  for (const IncomingMessage& message : in) {
    MPI_Irecv(message.values.data(), counted(message.values.size()), MPI_DOUBLE,
              static_cast<int>(message.from), kTag, communicator_, &requests_.emplace_back());
  }
  for (const OutgoingMessage& message : out) {
    MPI_Isend(message.values.data(), counted(message.values.size()), MPI_DOUBLE,
              static_cast<int>(message.to), kTag, communicator_, &requests_.emplace_back());
  }
}

void MpiTeam::finish() {
  MPI_Waitall(counted(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  requests_.clear();
}

void MpiTeam::gather_bytes(std::span<const std::byte> mine,
                           std::span<const std::size_t> sizes,
                           std::span<std::byte> all) {
  std::vector<int> counts;
  std::vector<int> places;
  std::size_t place = 0;
  for (const std::size_t size : sizes) {
    counts.push_back(counted(size));
    places.push_back(counted(place));
    place += size;
  }
  MPI_Allgatherv(mine.data(), counted(mine.size()), MPI_BYTE, all.data(), counts.data(),
                 places.data(), MPI_BYTE, communicator_);
}

}  // namespace forebay::flow
