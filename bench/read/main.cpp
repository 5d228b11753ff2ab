// SPDX-License-Identifier: Apache-2.0
// The programs forebay-bench-mpi and forebay-bench-tasks: benchmarks of several ranks. `forebay
// bench` starts them with a launcher; rank 0 is the program that forebay-bench is, the others do
// what it says. With --ranks N that is done by the first N of them, and by all only where a row
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
#include "bench/read/the_crew.hpp"
#include "comm/communicator.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::bench {
namespace {

/// The words that are for the frame, and those that were for us.
struct Words {
  std::vector<const char*> rest;
  std::optional<std::string_view> ranks;
};

Words split_words(std::span<const char* const> words) {
  Words result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == std::string_view("--ranks") && i + 1 < words.size()) {
      result.ranks = words[++i];
    } else {
      result.rest.push_back(words[i]);
    }
  }
  return result;
}

/// How many ranks the crew has: all, or as many as were asked for; nothing if that cannot be.
std::optional<std::uint32_t> crew_size(const std::optional<std::string_view>& asked,
                                       std::uint32_t there_are) {
  if (!asked) return there_are;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(asked->data(), asked->data() + asked->size(), number);
  const bool is_number = error == std::errc() && end == asked->data() + asked->size();
  if (!is_number || number < 1 || number > there_are) return std::nullopt;
  return number;
}

int complain(const comm::Communicator& everybody) {
  if (everybody.rank().number == 0) {
    const std::string text = "--ranks is a number from 1 to that of the ranks there are, " +
                             std::to_string(everybody.size());
    std::fprintf(stderr, "%s\n", probe::usage_error_line(text).c_str());
  }
  return probe::kExitUsage;
}

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return probe::kExitFailed;
}

int run_rank(std::span<const char* const> words) {
  const Ranks ranks = ranks_of(MPI_COMM_WORLD);
  if (!ranks.communicator()) return fail(ranks.communicator().error());
  const Words mine = split_words(words);
  const auto size = crew_size(mine.ranks, (*ranks.communicator())->size());
  if (!size) return complain(**ranks.communicator());
  const auto crew = read::Crew::muster(*ranks.communicator(), *size);
  if (!crew) return fail(crew.error());
  if (!(*crew)->leads()) return (*crew)->serve() ? 0 : 1;
  read::set_the_crew(crew->get());
  return run_program(mine.rest);
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
