// SPDX-License-Identifier: Apache-2.0
#include "tools/model/arguments.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace forebay::model_tool {

const char* const kUsage =
    "usage: forebay-model gain --compute-s SECONDS --write-s SECONDS [--count N]\n"
    "                          [--buffers N|unlimited] [--devices N] [--jitter X]\n"
    "                          [--compute-jitter X] [--seed N] [--curves]\n"
    "Prints one JSON document.\n";

namespace {

tl::unexpected<Error> complain(std::string text) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "read the command line",
                  .cause = std::move(text)});
}

/// Reads a word into where it belongs; false if it is no number.
using Taker = std::function<bool(const std::string&)>;

template <class Number>
Taker into(Number& target) {
  return [&target](const std::string& text) {
    const char* const end = text.data() + text.size();
    const auto [stopped, problem] = std::from_chars(text.data(), end, target);
    return problem == std::errc() && stopped == end;
  };
}

Taker into_buffers(std::uint64_t& target) {
  return [&target](const std::string& text) {
    if (text != "unlimited") return into(target)(text);
    target = model::kUnlimitedBuffers;
    return true;
  };
}

}  // namespace

Result<GainQuestion> parse_gain(const std::vector<std::string>& words) {
  GainQuestion question;
  const std::map<std::string, Taker> options{
      {"--compute-s", into(question.pipeline.compute_s)},
      {"--write-s", into(question.pipeline.write_s)},
      {"--count", into(question.pipeline.count)},
      {"--buffers", into_buffers(question.pipeline.buffers)},
      {"--devices", into(question.pipeline.devices)},
      {"--jitter", into(question.jitter.write)},
      {"--compute-jitter", into(question.jitter.compute)},
      {"--seed", into(question.jitter.seed)},
  };
  if (words.empty() || words.front() != "gain") return complain("the word gain, and its options");
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--curves") {
      question.curves = Curves::kTell;
      continue;
    }
    const auto option = options.find(words[i]);
    if (option == options.end()) return complain("unknown word " + words[i]);
    if (++i == words.size() || !option->second(words[i])) {
      return complain("a wrong or missing value for " + option->first);
    }
  }
  return question;
}

}  // namespace forebay::model_tool
