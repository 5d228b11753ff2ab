// SPDX-License-Identifier: Apache-2.0
// What tests on all ranks share: the team, and a folder that all of them see. For tests only.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include "bench/checkpoint/contender.hpp"
#include "bench/checkpoint/stored.hpp"

namespace forebay::bench::checkpoint {

inline Team team_of(MPI_Comm communicator) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  return {communicator, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size)};
}

inline Team whole_team() { return team_of(MPI_COMM_WORLD); }

/// Made, emptied and removed by all ranks together.
class TeamFolder {
 public:
  TeamFolder(const Team& team, const std::string& name) : team_(team) {
    int process = ::getpid();  // the folder of the first rank, for all
    MPI_Bcast(&process, 1, MPI_INT, 0, team.communicator);
    path_ = std::filesystem::absolute(name + "-" + std::to_string(process));
    empty();
  }
  ~TeamFolder() {
    MPI_Barrier(team_.communicator);
    std::error_code ignored;
    if (team_.rank == 0) std::filesystem::remove_all(path_, ignored);
  }
  TeamFolder(const TeamFolder&) = delete;
  TeamFolder& operator=(const TeamFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// When nobody reads any more what was there before.
  void empty() const {
    MPI_Barrier(team_.communicator);
    const Status made = team_.rank == 0 ? make_empty(path_) : Status();
    EXPECT_TRUE(made);
    MPI_Barrier(team_.communicator);
  }

 private:
  const Team team_;
  std::filesystem::path path_;
};

}  // namespace forebay::bench::checkpoint
