// SPDX-License-Identifier: Apache-2.0
#include "tools/study/arguments.hpp"

#include <charconv>
#include <functional>
#include <map>
#include <utility>

namespace forebay::study {

const char* const kUsage =
    "usage: forebay-study checkpoint --machine NAME-OR-FILE [--machine …] --bytes-per-rank N\n"
    "                                [--ranks N] [--nodes N] [--sizes equal|exponential]\n"
    "                                [--strategy NAME …] [--progress]\n"
    "Prints one JSON document. Default: 64 ranks, the clients of each machine as nodes, equal\n"
    "sizes, all strategies.\n";

namespace {

constexpr std::uint64_t kWordBytes = 8;

tl::unexpected<Error> complain(std::string text) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "read the command line",
                  .cause = std::move(text)});
}

/// Reads a word into where it belongs; false if it is not allowed.
using Taker = std::function<bool(const std::string&)>;

template <class Number>
Taker into(Number& target, Number min, Number max) {
  return [&target, min, max](const std::string& text) {
    const char* const end = text.data() + text.size();
    const auto [stopped, problem] = std::from_chars(text.data(), end, target);
    return problem == std::errc() && stopped == end && target >= min && target <= max;
  };
}

Taker into_sizes(bench::checkpoint::Sizes& target) {
  return [&target](const std::string& text) {
    using bench::checkpoint::Sizes;
    for (const Sizes sizes : {Sizes::kEqual, Sizes::kExponential}) {
      if (text != name_of(sizes)) continue;
      target = sizes;
      return true;
    }
    return false;
  };
}

Taker into_strategies(std::vector<Strategy>& target) {
  return [&target](const std::string& text) {
    const auto strategy = strategy_named(text);
    if (!strategy || *strategy == Strategy::kAuto) return false;
    target.push_back(*strategy);
    return true;
  };
}

}  // namespace

Result<Question> parse_checkpoint(const std::vector<std::string>& words) {
  Question question;
  Checkpoint& checkpoint = question.checkpoint;
  const std::map<std::string, Taker> options{
      {"--machine",
       [&](const std::string& text) {
         question.machines.push_back(text);
         return true;
       }},
      {"--ranks", into(checkpoint.ranks, 1U, kRanksMost)},
      {"--nodes", into(checkpoint.nodes, 1U, kRanksMost)},
      {"--bytes-per-rank", into(checkpoint.bytes_per_rank, kWordBytes, kBytesPerRankMost)},
      {"--sizes", into_sizes(checkpoint.sizes)},
      {"--strategy", into_strategies(checkpoint.strategies)},
  };
  if (words.empty() || words.front() != "checkpoint")
    return complain("the word checkpoint, and its options");
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--progress") {
      question.telling = probe::Telling::kTell;
      continue;
    }
    const auto option = options.find(words[i]);
    if (option == options.end()) return complain("unknown word " + words[i]);
    if (++i == words.size() || !option->second(words[i]))
      return complain("a wrong or missing value for " + option->first);
  }
  if (question.machines.empty()) return complain("no machine: write --machine and its name");
  if (checkpoint.bytes_per_rank == 0) return complain("no size: write --bytes-per-rank and bytes");
  if (checkpoint.bytes_per_rank % kWordBytes != 0)
    return complain("--bytes-per-rank must be a multiple of 8");
  if (checkpoint.strategies.empty())
    checkpoint.strategies = {Strategy::kSerial,     Strategy::kFilePerProcess,  Strategy::kBaton,
                             Strategy::kCollective, Strategy::kReducedBlocking, Strategy::kBrigade,
                             Strategy::kGather};
  return question;
}

}  // namespace forebay::study
