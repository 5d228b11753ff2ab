// SPDX-License-Identifier: Apache-2.0
#include "cube/remap_commands.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "cube/compression.hpp"

namespace forebay::cube {

using command::Arguments;
using command::ArgumentSpec;
using command::usage_error;

namespace {

constexpr Arguments::Bounds kThreads{1, 256};
constexpr Arguments::Bounds kLevels{kCompressionLevelMin, kCompressionLevelMax};
/// From a row of a few locations to more than the memory of any machine.
constexpr Arguments::Bounds kMemory{1ULL << 20U, 1ULL << 44U};

/// Names are separated by newlines, because names may contain commas.
std::vector<std::string> split_names(const Arguments& arguments, std::string_view option) {
  std::vector<std::string> names;
  std::string_view rest = arguments.text(option).value_or(std::string_view{});
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

Status check_selection(const Arguments& arguments, const RemapSelection& selection) {
  if (arguments.has("--level") && !arguments.has("--compress")) {
    return failure(usage_error("--level needs --compress"));
  }
  if (arguments.has("--spec") && arguments.has("--no-spec")) {
    return failure(usage_error("--spec and --no-spec exclude each other"));
  }
  for (const std::string& name : selection.inclusive) {
    if (std::ranges::find(selection.exclusive, name) == selection.exclusive.end()) continue;
    return failure(
        usage_error(fmt::format("{} cannot be written both --inclusive and --exclusive", name)));
  }
  return {};
}

}  // namespace

const ArgumentSpec& remap_rules() {
  static const ArgumentSpec rules{{"--progress", "--compress", "--no-spec"},
                                  {"--output", "--spec", "--select", "--inclusive", "--exclusive",
                                   "--level", "--threads", "--memory"}};
  return rules;
}

Result<RemapOptions> remap_options(const Arguments& arguments) {
  using enum command::ProgressMode;
  const auto output = arguments.text("--output");
  if (!output || output->empty()) return failure(usage_error("--output FILE is required"));
  RemapOptions options{
      .input = arguments.path(),
      .output = std::string(*output),
      .specification = std::string(arguments.text("--spec").value_or("")),
      .should_ignore_embedded = arguments.has("--no-spec"),
      .selection = {split_names(arguments, "--select"), split_names(arguments, "--inclusive"),
                    split_names(arguments, "--exclusive")},
      .progress = arguments.has("--progress") ? kJsonLines : kSilent};
  if (const Status sound = check_selection(arguments, options.selection); !sound) {
    return failure(sound.error());
  }
  const auto level = arguments.number("--level", kCompressionLevelDefault, kLevels);
  if (!level) return failure(level.error());
  if (arguments.has("--compress")) options.compression_level = static_cast<int>(*level);
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const auto threads = arguments.number("--threads", std::min(cores, kThreads.max), kThreads);
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
  WriterComm self_comm;
  return remap(*options, self_comm);
}

}  // namespace forebay::cube
