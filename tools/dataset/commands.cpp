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
#include "tools/dataset/soundness.hpp"

namespace forebay::dataset_tool {
namespace {

using command::ArgumentRules;
using command::Arguments;

constexpr Arguments::Bounds kThreads{1, 256};
/// More do not help: each reads files one after another.
constexpr std::uint64_t kThreadsUsualMax = 8;
constexpr std::uint64_t kBlocksUsual = 1000;

const ArgumentRules kListRules{{"--parts"}, {"--step"}};
const ArgumentRules kVerifyRules{{"--progress"}, {"--step", "--threads"}};
const ArgumentRules kRepairRules{{"--dry-run", "--progress"}, {}};
const ArgumentRules kDiffRules{
    {"--progress"}, {"--left-step", "--right-step", "--field", "--blocks"}, 2};
const ArgumentRules kReferencesRules{{}, {"--step", "--field"}, 2};
const ArgumentRules kReadRules{{}, {"--step", "--field"}};

Result<std::optional<std::uint64_t>> number(const Arguments& arguments, std::string_view option) {
  if (!arguments.has(option)) return std::nullopt;
  const auto value = arguments.number(option, 0, {});
  if (!value) return tl::unexpected(value.error());
  return *value;
}

/// Names with ends of lines between them.
std::vector<std::string> fields_of(const Arguments& arguments) {
  std::vector<std::string> fields;
  std::istringstream lines{std::string(arguments.text("--field").value_or(""))};
  for (std::string line; std::getline(lines, line);)
    fields.push_back(line);
  return fields;
}

Result<Selection> selection_of(const Arguments& arguments) {
  const auto step = number(arguments, "--step");
  if (!step) return tl::unexpected(step.error());
  return Selection{.path = arguments.path(), .step = *step, .fields = fields_of(arguments)};
}

command::ProgressMode progress_of(const Arguments& arguments) {
  using enum command::ProgressMode;
  return arguments.has("--progress") ? kJsonLines : kSilent;
}

Result<Json> run_list(const Arguments& arguments) {
  const auto step = number(arguments, "--step");
  if (!step) return tl::unexpected(step.error());
  const Blocks blocks = arguments.has("--parts") ? Blocks::kList : Blocks::kCount;
  return list({.path = arguments.path(), .step = *step, .blocks = blocks});
}

Result<Json> run_verify(const Arguments& arguments) {
  const auto step = number(arguments, "--step");
  if (!step) return tl::unexpected(step.error());
  const std::uint64_t usual =
      std::clamp<std::uint64_t>(std::thread::hardware_concurrency(), 1, kThreadsUsualMax);
  const auto threads = arguments.number("--threads", usual, kThreads);
  if (!threads) return tl::unexpected(threads.error());
  return verify({.path = arguments.path(),
                 .step = *step,
                 .threads = static_cast<unsigned>(*threads),
                 .progress = progress_of(arguments)});
}

Result<Json> run_repair(const Arguments& arguments) {
  using enum RepairMode;
  return repair_tables(arguments.path(), arguments.has("--dry-run") ? kLookOnly : kWrite,
                       progress_of(arguments));
}

Result<Json> run_diff(const Arguments& arguments) {
  const auto left = number(arguments, "--left-step");
  if (!left) return tl::unexpected(left.error());
  const auto right = number(arguments, "--right-step");
  if (!right) return tl::unexpected(right.error());
  const auto blocks = arguments.number("--blocks", kBlocksUsual, {});
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
  const ArgumentRules& rules;
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

command::Outcome run_command(std::span<const std::string_view> words) {
  const std::string_view name = words.empty() ? std::string_view{} : words.front();
  const auto command = std::ranges::find(kCommands, name, &Command::name);
  if (command == kCommands.end())
    return command::failed(
        command::usage_error("a command is needed: ls, verify, repair, diff, references or read"));
  const auto arguments = Arguments::parse(words.subspan(1), command->rules);
  if (!arguments) return command::failed(arguments.error());
  const Result<Json> document = command->run(*arguments);
  if (!document) return command::failed(document.error());
  return document->is_null() ? command::Outcome{} : command::answered(*document);
}

int run_program(int count, char** words) {
  return command::run_and_print(count, words, run_command);
}

}  // namespace forebay::dataset_tool
