// SPDX-License-Identifier: Apache-2.0
// I/O ranks: on each node the last rank reads for the others and does not compute. The compute
// ranks have their own communicator instead of MPI_COMM_WORLD.
#include <forebay/forebay.hpp>
#include <forebay/mpi.hpp>

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include "input_file.hpp"

namespace {

constexpr std::uint64_t kCount = 1U << 20U;  // numbers in the file

int print_error(const forebay::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

/// The sum of all numbers, on each of `ranks`. A rank gets its bytes through the agent of its node.
int add_up(forebay::Runtime& runtime, MPI_Comm ranks, const std::string& path) {
  const auto file = runtime.open_file(path);
  if (!file) return print_error(file.error());
  const auto session =
      file->read_session({}, {.tuning = {.agent_scope = forebay::AgentScope::kPerNode}});
  if (!session) return print_error(session.error());

  const std::uint64_t first = kCount * runtime.rank() / runtime.rank_count();
  const std::uint64_t last = kCount * (runtime.rank() + 1) / runtime.rank_count();
  std::uint64_t sum = 0;
  const forebay::Status read =
      session->views({8 * first, 8 * (last - first)}).for_each([&sum](const forebay::View& view) {
        sum += examples::sum_of(view.bytes());
      });
  if (!read) return print_error(read.error());
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, ranks);
  return sum == kCount * (kCount - 1) / 2 ? 0 : 1;
}

int run() {
  forebay::Runtime runtime(MPI_COMM_WORLD, {.placement = forebay::Placement::kDedicated});
  if (runtime.role() == forebay::Role::kIo) {
    const forebay::Status served = runtime.serve();  // until the others end their Runtimes
    return served ? 0 : print_error(served.error());
  }
  const forebay::Ranks compute = runtime.compute_ranks();
  const MPI_Comm ranks = forebay::communicator_of(compute);

  std::optional<examples::InputFile> input;  // rank 0 creates it and broadcasts its path
  std::string path(4096, '\0');
  if (runtime.rank() == 0) path = input.emplace(examples::numbers(kCount)).path();
  path.resize(4096);
  MPI_Bcast(path.data(), 4096, MPI_CHAR, 0, ranks);
  path.resize(path.find('\0'));
  if (add_up(runtime, ranks, path) != 0) MPI_Abort(ranks, 1);
  MPI_Barrier(ranks);  // before rank 0 removes the file
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = run();
  MPI_Finalize();
  return code;
}
