// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/commands.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "command/arguments.hpp"
#include "tools/dataset/block_stream.hpp"
#include "tools/dataset/compare.hpp"
#include "tools/dataset/listing.hpp"
#include "tools/dataset/references.hpp"
#include "tools/dataset/verify_repair.hpp"

namespace forebay::dataset_tool {
namespace {

using command::Arguments;
using command::ArgumentSpec;

constexpr Arguments::Bounds kThreads{1, 256};
/// More do not help: each thread reads files one after another.
constexpr std::uint64_t kDefaultThreadsMax = 8;
constexpr std::uint64_t kDefaultBlocks = 1000;

const ArgumentSpec kListRules{{"--parts"}, {"--step"}};
const ArgumentSpec kVerifyRules{{"--progress"}, {"--step", "--threads"}};
const ArgumentSpec kRepairRules{{"--dry-run", "--progress"}, {}};
const ArgumentSpec kDiffRules{
    {"--progress"}, {"--left-step", "--right-step", "--field", "--blocks"}, 2};
const ArgumentSpec kReferencesRules{{}, {"--step", "--field"}, 2};
const ArgumentSpec kReadRules{{}, {"--step", "--field"}};

Result<std::optional<std::uint64_t>> optional_number(const Arguments& arguments,
                                                     std::string_view option) {
  if (!arguments.has(option)) return std::nullopt;
  const auto value = arguments.number(option, 0, {});
  if (!value) return tl::unexpected(value.error());
  return *value;
}

/// The names in --field, separated by newlines.
std::vector<std::string> fields_of(const Arguments& arguments) {
  std::vector<std::string> fields;
  std::istringstream lines{std::string(arguments.text("--field").value_or(""))};
  for (std::string line; std::getline(lines, line);)
    fields.push_back(line);
  return fields;
}

Result<Selection> selection_of(const Arguments& arguments) {
  const auto step = optional_number(arguments, "--step");
  if (!step) return tl::unexpected(step.error());
  return Selection{.path = arguments.path(), .step = *step, .fields = fields_of(arguments)};
}

command::ProgressMode progress_of(const Arguments& arguments) {
  using enum command::ProgressMode;
  return arguments.has("--progress") ? kJsonLines : kSilent;
}

Result<Json> run_list(const Arguments& arguments) {
  const auto step = optional_number(arguments, "--step");
  if (!step) return tl::unexpected(step.error());
  const Blocks blocks = arguments.has("--parts") ? Blocks::kList : Blocks::kCount;
  return list({.path = arguments.path(), .step = *step, .blocks = blocks});
}

Result<Json> run_verify(const Arguments& arguments) {
  const auto step = optional_number(arguments, "--step");
  if (!step) return tl::unexpected(step.error());
  const std::uint64_t default_threads =
      std::clamp<std::uint64_t>(std::thread::hardware_concurrency(), 1, kDefaultThreadsMax);
  const auto threads = arguments.number("--threads", default_threads, kThreads);
  if (!threads) return tl::unexpected(threads.error());
  return verify({.path = arguments.path(),
                 .step = *step,
                 .threads = static_cast<unsigned>(*threads),
                 .progress = progress_of(arguments)});
}

Result<Json> run_repair(const Arguments& arguments) {
  using enum RepairMode;
  return repair_tables(arguments.path(), arguments.has("--dry-run") ? kDryRun : kWrite,
                       progress_of(arguments));
}

Result<Json> run_diff(const Arguments& arguments) {
  const auto left = optional_number(arguments, "--left-step");
  if (!left) return tl::unexpected(left.error());
  const auto right = optional_number(arguments, "--right-step");
  if (!right) return tl::unexpected(right.error());
  const auto blocks = arguments.number("--blocks", kDefaultBlocks, {});
  if (!blocks) return tl::unexpected(blocks.error());
  return compare({.left = {arguments.paths().front(), *left},
                  .right = {arguments.paths().back(), *right},
                  .fields = fields_of(arguments),
                  .blocks_max = *blocks,
                  .progress = progress_of(arguments)});
}

Result<Json> run_references(const Arguments& arguments) {
  const auto selection = selection_of(arguments);
  if (!selection) return tl::unexpected(selection.error());
  return write_references(*selection, arguments.paths().back());
}

Result<Json> run_read(const Arguments& arguments) {
  const auto selection = selection_of(arguments);
  if (!selection) return tl::unexpected(selection.error());
  if (const Status done = stream_blocks(*selection, stdout); !done)
    return tl::unexpected(done.error());
  return Json();
}

struct Command {
  std::string_view name;
  const ArgumentSpec& rules;
  Result<Json> (*run)(const Arguments& arguments);
};
const std::array kCommands{
    Command{"ls", kListRules, run_list},
    Command{"verify", kVerifyRules, run_verify},
    Command{"repair", kRepairRules, run_repair},
    Command{"diff", kDiffRules, run_diff},
    Command{"references", kReferencesRules, run_references},
    Command{"read", kReadRules, run_read},
};

}  // namespace

command::CommandResult run_command(std::span<const std::string_view> words) {
  const std::string_view name = words.empty() ? std::string_view{} : words.front();
  const auto command = std::ranges::find(kCommands, name, &Command::name);
  if (command == kCommands.end())
    return command::make_failure(command::usage_error(
        "a command is required: ls, verify, repair, diff, references or read"));
  const auto arguments = Arguments::parse(words.subspan(1), command->rules);
  if (!arguments) return command::make_failure(arguments.error());
  const Result<Json> document = command->run(*arguments);
  if (!document) return command::make_failure(document.error());
  return document->is_null() ? command::CommandResult{} : command::make_result(*document);
}

int run_program(int count, char** words) {
  return command::run_and_print(count, words, run_command);
}

}  // namespace forebay::dataset_tool
