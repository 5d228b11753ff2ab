// SPDX-License-Identifier: Apache-2.0
// The program forebay-bench-checkpoint, started by the launcher of its MPI: rank 0 runs the frame,
// like forebay-bench, and the others execute its requests.
#include <span>

#include <mpi.h>

#include "bench/checkpoint/metadata_calls.hpp"
#include "bench/checkpoint/trial_harness.hpp"
#include "bench/frame/program.hpp"

namespace forebay::bench::checkpoint {
namespace {

int run_rank(std::span<const char* const> words) {
  TrialHarness harness([] { return metadata_calls(); });
  if (harness.rank() != 0) {
    harness.serve();
    return 0;
  }
  set_trial_harness(&harness);
  const int code = run_program(words);
  (void)harness.run(TrialRequest{.kind = TrialKind::kStop});
  return code;
}

}  // namespace
}  // namespace forebay::bench::checkpoint

int main(int count, char** arguments) {
  const std::span<const char* const> words(arguments + 1, static_cast<std::size_t>(count - 1));
  const auto command = forebay::bench::parse_command(words);
  if (command && !command->needs_ranks()) return forebay::bench::run_command(*command);
  int support = MPI_THREAD_SINGLE;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &support);
  const int code =
      forebay::bench::checkpoint::run_rank({arguments + 1, static_cast<std::size_t>(count - 1)});
  MPI_Finalize();
  return code;
}
