// SPDX-License-Identifier: Apache-2.0
#include "tools/study/arguments.hpp"

#include <array>
#include <charconv>
#include <cstddef>
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
constexpr std::array kSimulated{
    Strategy::kSerial,          Strategy::kFilePerProcess, Strategy::kBaton, Strategy::kCollective,
    Strategy::kReducedBlocking, Strategy::kBrigade,        Strategy::kGather};

tl::unexpected<Error> usage_error(std::string text) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "read the command line",
                  .cause = std::move(text)});
}

/// An option that takes a value.
struct Option {
  std::function<bool(const std::string&)> parse;  ///< stores the value; false: not allowed
  std::string allowed;                            ///< in words, after "must be "
};

template <class Number>
Option into(Number& target, Number min, Number max) {
  const auto parse = [&target, min, max](const std::string& text) {
    const char* const end = text.data() + text.size();
    const auto [stopped, problem] = std::from_chars(text.data(), end, target);
    return problem == std::errc() && stopped == end && target >= min && target <= max;
  };
  return {parse, "a whole number from " + std::to_string(min) + " to " + std::to_string(max)};
}

Option into_machines(std::vector<std::string>& target) {
  const auto parse = [&target](const std::string& text) {
    target.push_back(text);
    return true;
  };
  return {parse, "the name of a machine, or a file"};
}

Option into_sizes(bench::checkpoint::SizeDistribution& target) {
  const auto parse = [&target](const std::string& text) {
    using bench::checkpoint::SizeDistribution;
    for (const SizeDistribution sizes :
         {SizeDistribution::kEqual, SizeDistribution::kExponential}) {
      if (text != name_of(sizes)) continue;
      target = sizes;
      return true;
    }
    return false;
  };
  return {parse, "equal or exponential"};
}

Option into_strategies(std::vector<Strategy>& target) {
  const auto parse = [&target](const std::string& text) {
    const auto strategy = parse_strategy(text);
    if (!strategy || *strategy == Strategy::kAuto) return false;
    target.push_back(*strategy);
    return true;
  };
  std::string names;
  for (const Strategy strategy : kSimulated)
    names.append(names.empty() ? "" : ", ").append(name_of(strategy));
  return {parse, "one of " + names};
}

using Options = std::map<std::string, Option>;

/// Parses the word after words[at], which is an option with a value.
Status parse_value(const Options& options, const std::vector<std::string>& words, std::size_t at) {
  const auto found = options.find(words[at]);
  if (found == options.end()) return usage_error("unknown word " + words[at]);
  const auto& [name, option] = *found;
  if (at + 1 == words.size())
    return usage_error(name + " has no value: it must be " + option.allowed);
  const std::string& value = words[at + 1];
  if (option.parse(value)) return {};
  return usage_error(name + " must be " + option.allowed + ", not '" + value + "'");
}

}  // namespace

Result<StudyRequest> parse_checkpoint(const std::vector<std::string>& words) {
  StudyRequest request;
  Checkpoint& checkpoint = request.checkpoint;
  const Options options{
      {"--machine", into_machines(request.machines)},
      {"--ranks", into(checkpoint.ranks, 1U, kRanksMax)},
      {"--nodes", into(checkpoint.nodes, 1U, kRanksMax)},
      {"--bytes-per-rank", into(checkpoint.bytes_per_rank, kWordBytes, kBytesPerRankMax)},
      {"--sizes", into_sizes(checkpoint.sizes)},
      {"--strategy", into_strategies(checkpoint.strategies)},
  };
  if (words.empty() || words.front() != "checkpoint")
    return usage_error("no command; write checkpoint and its options");
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--progress") {
      request.progress_mode = probe::ProgressMode::kJsonLines;
      continue;
    }
    if (const Status taken = parse_value(options, words, i); !taken)
      return tl::unexpected(taken.error());
    ++i;  // past the value
  }
  if (request.machines.empty()) return usage_error("no machine; write --machine and its name");
  if (checkpoint.bytes_per_rank == 0)
    return usage_error("no size; write --bytes-per-rank and bytes");
  if (checkpoint.bytes_per_rank % kWordBytes != 0)
    return usage_error("--bytes-per-rank must be a multiple of 8");
  if (checkpoint.strategies.empty())
    checkpoint.strategies.assign(kSimulated.begin(), kSimulated.end());
  return request;
}

}  // namespace forebay::study
