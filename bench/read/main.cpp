// SPDX-License-Identifier: Apache-2.0
// The program forebay-bench-mpi: benchmarks of several ranks. `forebay bench` starts it with a
// launcher; rank 0 is the program that forebay-bench is, the others do what it says.
#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "bench/frame/program.hpp"
#include "bench/read/the_crew.hpp"
#include "comm/communicator.hpp"

namespace forebay::bench {
namespace {

int run_rank(std::span<const char* const> words) {
  const Ranks ranks = ranks_of(MPI_COMM_WORLD);
  if (!ranks.communicator()) {
    std::fprintf(stderr, "%s\n", ranks.communicator().error().message().c_str());
    return 1;
  }
  read::Crew crew(*ranks.communicator());
  if (crew.ranks().rank().number != 0) return crew.serve() ? 0 : 1;
  read::set_the_crew(&crew);
  return run_program(words);
}

// What a list of benchmarks says needs no ranks, and no launcher.
bool asks_for_text(std::span<const char* const> words) {
  return std::any_of(words.begin(), words.end(), [](const std::string_view word) {
    return word == "--list" || word == "--help";
  });
}

}  // namespace
}  // namespace forebay::bench

int main(int count, char** arguments) {
  const std::span<const char* const> words(arguments + 1, static_cast<std::size_t>(count - 1));
  if (forebay::bench::asks_for_text(words)) return forebay::bench::run_program(words);
  int support = MPI_THREAD_SINGLE;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_SERIALIZED, &support);
  const int code = forebay::bench::run_rank({arguments + 1, static_cast<std::size_t>(count - 1)});
  MPI_Finalize();
  return code;
}
