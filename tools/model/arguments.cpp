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

tl::unexpected<Error> usage_error(std::string text) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "read the command line",
                  .cause = std::move(text)});
}

/// Parses a word into its target; false if it is not a number.
using OptionParser = std::function<bool(const std::string&)>;

template <class Number>
OptionParser into(Number& target) {
  return [&target](const std::string& text) {
    const char* const end = text.data() + text.size();
    const auto [stopped, problem] = std::from_chars(text.data(), end, target);
    return problem == std::errc() && stopped == end;
  };
}

OptionParser into_buffers(std::uint64_t& target) {
  return [&target](const std::string& text) {
    if (text != "unlimited") return into(target)(text);
    target = model::kUnlimitedBuffers;
    return true;
  };
}

}  // namespace

Result<GainQuery> parse_gain(const std::vector<std::string>& words) {
  GainQuery query;
  const std::map<std::string, OptionParser> options{
      {"--compute-s", into(query.pipeline.compute_s)},
      {"--write-s", into(query.pipeline.write_s)},
      {"--count", into(query.pipeline.count)},
      {"--buffers", into_buffers(query.pipeline.buffers)},
      {"--devices", into(query.pipeline.devices)},
      {"--jitter", into(query.jitter.write)},
      {"--compute-jitter", into(query.jitter.compute)},
      {"--seed", into(query.jitter.seed)},
  };
  if (words.empty() || words.front() != "gain")
    return usage_error("no command; write gain and its options");
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--curves") {
      query.curves = Curves::kInclude;
      continue;
    }
    const auto option = options.find(words[i]);
    if (option == options.end()) return usage_error("unknown word " + words[i]);
    if (++i == words.size() || !option->second(words[i])) {
      return usage_error("a wrong or missing value for " + option->first);
    }
  }
  return query;
}

}  // namespace forebay::model_tool
