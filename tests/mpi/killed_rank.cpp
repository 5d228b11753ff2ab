// SPDX-License-Identifier: Apache-2.0
// killed_rank: ranks that read one file through the agent of their node until one of them is
// killed. Usage, by a launcher: killed_rank in-rank|dedicated FILE. The agent is in a rank that
// also reads, or in an I/O rank. Each rank creates the file FILE.PROCESS; killed_rank.py kills one
// and checks what is left.
#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>
#include <unistd.h>

namespace {

/// Maximum time that a rank waits for the end, whatever happens to the others.
constexpr std::chrono::seconds kTimeout{40};
constexpr std::uint64_t kPieceBytes = 100'000;

int report_error(const forebay::Error& error) {
  std::fprintf(stderr, "killed_rank: %s\n", error.message().c_str());
  return 1;
}

/// Launchers mix the output of ranks, so each rank reports by a file.
void signal_ready(const std::string& path) {
  std::ofstream(path + "." + std::to_string(::getpid()));
}

int read_until_error(const forebay::Session& session) {
  // Held to the end: the agent must not wait for it either.
  auto held = session.view({0, kPieceBytes}).wait();
  if (!held) return report_error(held.error());
  signal_ready(session.path());
  std::vector<std::byte> into(kPieceBytes);
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  while (std::chrono::steady_clock::now() < end) {
    for (std::uint64_t at = 0; at + kPieceBytes <= session.extent().size; at += kPieceBytes) {
      const auto got = session.read(at, std::span(into)).wait();
      if (!got) return report_error(got.error());
    }
  }
  std::fprintf(stderr, "killed_rank: nothing happened\n");
  return 1;
}

int serve(forebay::Runtime& runtime, const std::string& path) {
  signal_ready(path);
  const auto served = runtime.serve();
  return served ? 0 : report_error(served.error());
}

int run(forebay::Placement placement, const std::string& path) {
  forebay::Runtime runtime(MPI_COMM_WORLD, {.placement = placement});
  if (runtime.role() == forebay::Role::kIo) return serve(runtime, path);
  const forebay::Ranks compute = runtime.compute_ranks();
  const auto file = runtime.open_file(path);
  if (!file) return report_error(file.error());
  const auto session = file->read_session(
      {}, {.budget_bytes = 64 * 4096,
           .tuning = {.splinter_bytes = 4096, .agent_scope = forebay::AgentScope::kPerNode}});
  if (!session) return report_error(session.error());
  MPI_Barrier(forebay::communicator_of(
      compute));  // So that the agent has a socket, and all ranks are its clients.
  return read_until_error(*session);
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const bool is_dedicated = argc > 1 && std::string_view(argv[1]) == "dedicated";
  const auto placement =
      is_dedicated ? forebay::Placement::kDedicated : forebay::Placement::kInRank;
  const int outcome = argc == 3 ? run(placement, argv[2]) : 2;
  MPI_Finalize();
  return outcome;
}
