// SPDX-License-Identifier: Apache-2.0
// The program forebay-flow-mpi: the commands of forebay-flow on the ranks of an MPI job. Options,
// document and exit codes are the same; rank 0 prints.
#include <forebay/mpi.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <mpi.h>

#include "flow/commands.hpp"
#include "flow/mpi_solver_comm.hpp"

namespace forebay::flow {
namespace {

void run_on_world(std::uint32_t /*count*/, const std::function<void(SolverComm&)>& work) {
  MpiSolverComm comm(MPI_COMM_WORLD);
  work(comm);
}

int print(const command::CommandResult& outcome) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank > 0) return outcome.exit_code;
  std::fputs(outcome.output.c_str(), stdout);
  std::fputs(outcome.errors.c_str(), stderr);
  return std::fflush(stdout) == 0 ? outcome.exit_code : command::kExitFailure;
}

/// Ends the job after an exception of one rank; the other ranks would wait for it without limit.
[[noreturn]] void abort_job(const char* what) {
  const std::string text = command::describe_exception(what);
  std::fputs(text.c_str(), stderr);
  MPI_Abort(MPI_COMM_WORLD, command::kExitFailure);
  std::terminate();
}

}  // namespace
}  // namespace forebay::flow

int main(int argument_count, char** argument_values) {
  using namespace forebay;
  // Agents write while the solver sends: the strategy `collective` calls MPI from a thread of
  // Forebay.
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argument_count, &argument_values, MPI_THREAD_MULTIPLE, &level);
  int exit_code = command::kExitFailure;
  try {
    const std::vector<std::string_view> args(argument_values + 1, argument_values + argument_count);
    const auto make_runtime = [](const RuntimeOptions& options) {
      return std::make_unique<Runtime>(MPI_COMM_WORLD, options);
    };
    const flow::RankLauncher ranks{flow::RankLauncher::Kind::kExisting, flow::run_on_world,
                                   make_runtime};
    exit_code = flow::print(flow::run_command(args, ranks));
  } catch (const std::exception& caught) {
    flow::abort_job(caught.what());
  }
  MPI_Finalize();
  return exit_code;
}
