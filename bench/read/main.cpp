// SPDX-License-Identifier: Apache-2.0
// The programs forebay-bench-mpi and forebay-bench-tasks: benchmarks of several ranks. `forebay
// bench` starts them with a launcher. Rank 0 runs the frame, like forebay-bench; the others execute
// its jobs. With --ranks N only the first N ranks are active, and all ranks only where a row
// compares numbers of ranks.
#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/frame/program.hpp"
#include "bench/read/rank_harness_instance.hpp"
#include "comm/communicator.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::bench {
namespace {

/// The arguments of the frame, and those of this program.
struct CommandLine {
  std::vector<const char*> benchmark_arguments;
  std::optional<std::string_view> ranks;
};

CommandLine parse_command_line(std::span<const char* const> words) {
  CommandLine result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == std::string_view("--ranks") && i + 1 < words.size()) {
      result.ranks = words[++i];
    } else {
      result.benchmark_arguments.push_back(words[i]);
    }
  }
  return result;
}

/// The number of active ranks: all, or the requested number; empty if that is invalid.
std::optional<std::uint32_t> parse_rank_count(const std::optional<std::string_view>& requested,
                                              std::uint32_t available) {
  if (!requested) return available;
  std::uint32_t number = 0;
  const auto [end, error] =
      std::from_chars(requested->data(), requested->data() + requested->size(), number);
  const bool is_number = error == std::errc() && end == requested->data() + requested->size();
  if (!is_number || number < 1 || number > available) return std::nullopt;
  return number;
}

int report_usage_error(const comm::Communicator& world) {
  if (world.rank().number == 0) {
    const std::string text =
        "--ranks must be a number from 1 to the number of ranks, " + std::to_string(world.size());
    std::fprintf(stderr, "%s\n", probe::usage_error_line(text).c_str());
  }
  return probe::kExitUsage;
}

int report_error(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return probe::kExitFailure;
}

int run_rank(std::span<const char* const> words) {
  const Ranks ranks = ranks_of(MPI_COMM_WORLD);
  if (!ranks.communicator()) return report_error(ranks.communicator().error());
  const CommandLine mine = parse_command_line(words);
  const auto size = parse_rank_count(mine.ranks, (*ranks.communicator())->size());
  if (!size) return report_usage_error(**ranks.communicator());
  const auto harness = read::RankHarness::create(*ranks.communicator(), *size);
  if (!harness) return report_error(harness.error());
  if (!(*harness)->is_root()) return (*harness)->serve() ? 0 : 1;
  read::set_rank_harness(harness->get());
  return run_program(mine.benchmark_arguments);
}

// Listing benchmarks needs no ranks and no launcher.
bool is_text_request(std::span<const char* const> words) {
  return std::any_of(words.begin(), words.end(), [](const std::string_view word) {
    return word == "--list" || word == "--help";
  });
}

}  // namespace
}  // namespace forebay::bench

int main(int count, char** arguments) {
  const std::span<const char* const> words(arguments + 1, static_cast<std::size_t>(count - 1));
  if (forebay::bench::is_text_request(words)) return forebay::bench::run_program(words);
  int support = MPI_THREAD_SINGLE;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_SERIALIZED, &support);
  const int code = forebay::bench::run_rank({arguments + 1, static_cast<std::size_t>(count - 1)});
  MPI_Finalize();
  return code;
}
