// SPDX-License-Identifier: Apache-2.0
// The programs forebay-bench-mpi and forebay-bench-tasks: benchmarks of several ranks. `forebay
// bench` starts them with a launcher. Rank 0 runs the frame, like forebay-bench; the others execute
// its jobs. With --ranks N only the first N ranks are active, and all ranks only where a row
// compares numbers of ranks.
#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <cstdio>
#include <span>
#include <string>

#include <mpi.h>

#include "bench/frame/program.hpp"
#include "bench/read/rank_harness_instance.hpp"
#include "comm/communicator.hpp"
#include "comm/ranks_access.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::bench {
namespace {

/// Only rank 0 prints.
int report_usage_error(const std::string& text) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0 ? probe::print_usage_error(text) : probe::kExitUsage;
}

int report_error(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return probe::kExitFailure;
}

int run_rank(const Command& command) {
  const Ranks ranks = ranks_of(MPI_COMM_WORLD);
  if (!comm::ranks_communicator(ranks))
    return report_error(comm::ranks_communicator(ranks).error());
  const std::uint32_t available = (*comm::ranks_communicator(ranks))->size();
  const std::uint32_t size = command.ranks.value_or(available);
  if (size > available) {
    return report_usage_error("--ranks must be a number from 1 to the number of ranks, " +
                              std::to_string(available));
  }
  const auto harness = read::RankHarness::create(*comm::ranks_communicator(ranks), size);
  if (!harness) return report_error(harness.error());
  if (!(*harness)->is_root()) return (*harness)->serve() ? 0 : 1;
  read::set_rank_harness(harness->get());
  return run_command(command);
}

}  // namespace
}  // namespace forebay::bench

int main(int count, char** arguments) {
  using namespace forebay::bench;
  const std::span<const char* const> words(arguments + 1, static_cast<std::size_t>(count - 1));
  const auto command = parse_command(words, RanksOption::kPresent);
  if (command && !command->needs_ranks()) return run_command(*command);
  int support = MPI_THREAD_SINGLE;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_SERIALIZED, &support);
  const int code = command ? run_rank(*command) : report_usage_error(command.error().cause());
  MPI_Finalize();
  return code;
}
