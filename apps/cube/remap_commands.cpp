// SPDX-License-Identifier: Apache-2.0
#include "cube/remap_commands.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "cube/inflater.hpp"

namespace forebay::cube {

using command::ArgumentRules;
using command::Arguments;
using command::usage_error;

namespace {

constexpr Arguments::Bounds kThreads{1, 256};
constexpr Arguments::Bounds kLevels{kPackingLevelMin, kPackingLevelMax};
/// A row of a few locations, and more than any machine has.
constexpr Arguments::Bounds kMemory{1ULL << 20U, 1ULL << 44U};

/// Names with ends of lines between them: names may have commas.
std::vector<std::string> names_in(const Arguments& arguments, std::string_view option) {
  std::vector<std::string> names;
  std::string_view rest = arguments.text(option).value_or(std::string_view{});
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

Status check_choice(const Arguments& arguments, const RemapChoice& choice) {
  if (arguments.has("--level") && !arguments.has("--compress")) {
    return failure(usage_error("--level needs --compress"));
  }
  if (arguments.has("--spec") && arguments.has("--no-spec")) {
    return failure(usage_error("--spec and --no-spec exclude each other"));
  }
  for (const std::string& name : choice.inclusive) {
    if (std::ranges::find(choice.exclusive, name) == choice.exclusive.end()) continue;
    return failure(
        usage_error(fmt::format("{} cannot be written both --inclusive and --exclusive", name)));
  }
  return {};
}

}  // namespace

const ArgumentRules& remap_rules() {
  static const ArgumentRules rules{{"--progress", "--compress", "--no-spec"},
                                   {"--output", "--spec", "--select", "--inclusive", "--exclusive",
                                    "--level", "--threads", "--memory"}};
  return rules;
}

Result<RemapOptions> remap_options(const Arguments& arguments) {
  using enum command::ProgressMode;
  const auto output = arguments.text("--output");
  if (!output || output->empty()) return failure(usage_error("--output FILE is needed"));
  RemapOptions options{
      .input = arguments.path(),
      .output = std::string(*output),
      .specification = std::string(arguments.text("--spec").value_or("")),
      .ignores_inner_specification = arguments.has("--no-spec"),
      .choice = {names_in(arguments, "--select"), names_in(arguments, "--inclusive"),
                 names_in(arguments, "--exclusive")},
      .progress = arguments.has("--progress") ? kJsonLines : kSilent};
  if (const Status sound = check_choice(arguments, options.choice); !sound) {
    return failure(sound.error());
  }
  const auto level = arguments.number("--level", kPackingLevelUsual, kLevels);
  if (!level) return failure(level.error());
  if (arguments.has("--compress")) options.packing_level = static_cast<int>(*level);
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const auto threads = arguments.number("--threads", std::min(cores, kThreads.most), kThreads);
  if (!threads) return failure(threads.error());
  options.threads = static_cast<unsigned>(*threads);
  const auto memory = arguments.size_bytes("--memory", kMemory);
  if (!memory) return failure(memory.error());
  options.cache_bytes = memory->value_or(options.cache_bytes);
  return options;
}

Result<Json> run_remap(const Arguments& arguments) {
  const auto options = remap_options(arguments);
  if (!options) return failure(options.error());
  Team alone;
  return remap(*options, alone);
}

}  // namespace forebay::cube
