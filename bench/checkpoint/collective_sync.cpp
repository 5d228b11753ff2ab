// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/collective_sync.hpp"

#include <ctime>
#include <string>
#include <vector>

#include "bench/checkpoint/run_files.hpp"

namespace forebay::bench::checkpoint {

namespace {

/// Separates paths in one text: no path contains it.
constexpr char kPathSeparator = '\0';

void wait_sleeping(MPI_Request request) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 200'000};
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    ::nanosleep(&kPause, nullptr);
  }
}

/// The first rank's text, on all ranks.
std::string broadcast_text(const RankTeam& team, std::string text) {
  MPI_Request request = MPI_REQUEST_NULL;
  auto size = static_cast<int>(text.size());
  MPI_Ibcast(&size, 1, MPI_INT, 0, team.communicator, &request);
  wait_sleeping(request);
  text.resize(static_cast<std::size_t>(size));
  MPI_Ibcast(text.data(), size, MPI_CHAR, 0, team.communicator, &request);
  wait_sleeping(request);
  return text;
}

/// Each rank's share: every path whose number modulo the team's size is the rank.
std::vector<std::filesystem::path> share_of_paths(const RankTeam& team, const std::string& text) {
  std::vector<std::filesystem::path> mine;
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = text.find(kPathSeparator, begin);
    if (number % team.size == team.rank) mine.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return mine;
}

}  // namespace

void sleeping_barrier(const RankTeam& team) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(team.communicator, &request);
  wait_sleeping(request);
}

Status sync_collective(const RankTeam& team, const std::filesystem::path& directory) {
  Status listed;
  std::string text;
  if (team.rank == 0) {  // one list for all: files that agents remove meanwhile do not change
                         // shares
    const auto paths = paths_to_sync(directory);
    if (!paths) listed = failure(paths.error());
    if (paths)
      for (const std::filesystem::path& path : *paths)
        text += path.string() + kPathSeparator;
  }
  text = broadcast_text(team, std::move(text));
  const Status synced = sync_each(share_of_paths(team, text));
  sleeping_barrier(team);
  return listed ? synced : listed;
}

}  // namespace forebay::bench::checkpoint
