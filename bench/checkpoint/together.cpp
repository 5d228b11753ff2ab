// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/together.hpp"

#include <ctime>
#include <string>
#include <vector>

#include "bench/checkpoint/stored.hpp"

namespace forebay::bench::checkpoint {

namespace {

/// Of paths in one text: no path has it.
constexpr char kBetweenPaths = '\0';

void wait_asleep(MPI_Request request) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 200'000};
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    ::nanosleep(&kPause, nullptr);
  }
}

/// The first rank's, on all of them.
std::string text_of_first(const Team& team, std::string text) {
  MPI_Request request = MPI_REQUEST_NULL;
  auto size = static_cast<int>(text.size());
  MPI_Ibcast(&size, 1, MPI_INT, 0, team.communicator, &request);
  wait_asleep(request);
  text.resize(static_cast<std::size_t>(size));
  MPI_Ibcast(text.data(), size, MPI_CHAR, 0, team.communicator, &request);
  wait_asleep(request);
  return text;
}

/// Every so-many-th path is a rank's.
std::vector<std::filesystem::path> share_of_paths(const Team& team, const std::string& text) {
  std::vector<std::filesystem::path> mine;
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = text.find(kBetweenPaths, begin);
    if (number % team.size == team.rank) mine.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return mine;
}

}  // namespace

void quiet_barrier(const Team& team) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(team.communicator, &request);
  wait_asleep(request);
}

Status sync_together(const Team& team, const std::filesystem::path& folder) {
  Status listed;
  std::string text;
  if (team.rank == 0) {  // one list for all: what agents take away meanwhile moves nobody's share
    const auto paths = paths_to_sync(folder);
    if (!paths) listed = failure(paths.error());
    if (paths)
      for (const std::filesystem::path& path : *paths)
        text += path.string() + kBetweenPaths;
  }
  text = text_of_first(team, std::move(text));
  const Status synced = sync_each(share_of_paths(team, text));
  quiet_barrier(team);
  return listed ? synced : listed;
}

}  // namespace forebay::bench::checkpoint
