// SPDX-License-Identifier: Apache-2.0
// Shared by tests on all ranks: the team, and a directory that all of them use. For tests only.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include "bench/checkpoint/candidate.hpp"
#include "bench/checkpoint/run_files.hpp"

namespace forebay::bench::checkpoint {

inline RankTeam team_of(MPI_Comm communicator) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  return {communicator, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size)};
}

inline RankTeam world_team() { return team_of(MPI_COMM_WORLD); }

/// Created, emptied and removed by all ranks together.
class TeamDirectory {
 public:
  TeamDirectory(const RankTeam& team, const std::string& name) : team_(team) {
    int process = ::getpid();  // the directory of the first rank, for all
    MPI_Bcast(&process, 1, MPI_INT, 0, team.communicator);
    path_ = std::filesystem::absolute(name + "-" + std::to_string(process));
    clear();
  }
  ~TeamDirectory() {
    MPI_Barrier(team_.communicator);
    std::error_code ignored;
    if (team_.rank == 0) std::filesystem::remove_all(path_, ignored);
  }
  TeamDirectory(const TeamDirectory&) = delete;
  TeamDirectory& operator=(const TeamDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Empties the directory when all ranks have called it.
  void clear() const {
    MPI_Barrier(team_.communicator);
    const Status made = team_.rank == 0 ? make_empty(path_) : Status();
    EXPECT_TRUE(made);
    MPI_Barrier(team_.communicator);
  }

 private:
  const RankTeam team_;
  std::filesystem::path path_;
};

}  // namespace forebay::bench::checkpoint
