// SPDX-License-Identifier: Apache-2.0
// The program forebay-bench: benchmarks of one process.
#include "bench/frame/program.hpp"

int main(int count, char** arguments) {
  return forebay::bench::run_program({arguments + 1, static_cast<std::size_t>(count - 1)});
}
