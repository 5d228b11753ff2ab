// SPDX-License-Identifier: Apache-2.0
// The program forebay-bench-checkpoint, started by the launcher of its MPI: rank 0 is the program
// that forebay-bench is, the others do what it orders.
#include <algorithm>
#include <span>
#include <string_view>

#include <mpi.h>

#include "bench/checkpoint/everybody.hpp"
#include "bench/checkpoint/metadata_calls.hpp"
#include "bench/frame/program.hpp"

namespace forebay::bench::checkpoint {
namespace {

int run_rank(std::span<const char* const> words) {
  Everybody all([] { return metadata_calls(); });
  if (all.rank() != 0) {
    all.serve();
    return 0;
  }
  set_everybody(&all);
  const int code = run_program(words);
  (void)all.order(Order{.task = Task::kLeave});
  return code;
}

// What a list of benchmarks says needs no ranks, and no launcher.
bool asks_for_text(std::span<const char* const> words) {
  return std::any_of(words.begin(), words.end(), [](const std::string_view word) {
    return word == "--list" || word == "--help";
  });
}

}  // namespace
}  // namespace forebay::bench::checkpoint

int main(int count, char** arguments) {
  const std::span<const char* const> words(arguments + 1, static_cast<std::size_t>(count - 1));
  if (forebay::bench::checkpoint::asks_for_text(words)) return forebay::bench::run_program(words);
  int support = MPI_THREAD_SINGLE;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &support);
  const int code =
      forebay::bench::checkpoint::run_rank({arguments + 1, static_cast<std::size_t>(count - 1)});
  MPI_Finalize();
  return code;
}
