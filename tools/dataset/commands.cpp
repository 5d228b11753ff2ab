// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/commands.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "command/cli.hpp"
#include "tools/dataset/block_stream.hpp"
#include "tools/dataset/compare.hpp"
#include "tools/dataset/listing.hpp"
#include "tools/dataset/verify_repair.hpp"

namespace forebay::dataset_tool {
namespace {

using command::add_number;
using command::add_path;

constexpr command::Bounds kThreads{1, 256};
/// More do not help: each thread reads files one after another.
constexpr unsigned kDefaultThreadsMax = 8;

void add_step(CLI::App& app, std::optional<std::uint64_t>& step) {
  add_number(app, "--step", step, {}, "Step [the newest]");
}

void add_fields(CLI::App& app, std::vector<std::string>& fields) {
  command::add_names(app, "--field", fields, "Only these fields, separated by newlines");
}

command::Run declare_list(CLI::App& app) {
  const auto options = std::make_shared<ListOptions>();
  add_path(app, "DATASET", options->path, "The dataset");
  add_step(app, options->step);
  command::add_flag(app, "--parts", options->blocks, Blocks::kList, "List parts and blocks");
  return [options] { return command::make_result(list(*options)); };
}

command::Run declare_verify(CLI::App& app) {
  const auto request = std::make_shared<VerifyRequest>();
  request->threads = std::clamp(std::thread::hardware_concurrency(), 1U, kDefaultThreadsMax);
  add_path(app, "DATASET", request->path, "The dataset");
  add_number(app, "--step", request->step, {}, "Verify only this step");
  add_number(app, "--threads", request->threads, kThreads, "Files read at once");
  command::add_progress(app, request->progress);
  return [request] { return command::make_result(verify(*request)); };
}

struct RepairCommand {
  std::string path;
  RepairMode mode = RepairMode::kWrite;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

command::Run declare_repair(CLI::App& app) {
  const auto request = std::make_shared<RepairCommand>();
  add_path(app, "DATASET", request->path, "The dataset");
  command::add_flag(app, "--dry-run", request->mode, RepairMode::kDryRun, "Change nothing");
  command::add_progress(app, request->progress);
  return [request] {
    return command::make_result(repair_tables(request->path, request->mode, request->progress));
  };
}

command::Run declare_diff(CLI::App& app) {
  const auto options = std::make_shared<CompareOptions>();
  add_path(app, "LEFT", options->left.path, "The first dataset");
  add_path(app, "RIGHT", options->right.path, "The second dataset");
  add_number(app, "--left-step", options->left.step, {}, "Step of LEFT [the newest]");
  add_number(app, "--right-step", options->right.step, {}, "Step of RIGHT [the newest]");
  add_fields(app, options->fields);
  add_number(app, "--blocks", options->blocks_max, {}, "Blocks to list for each field");
  command::add_progress(app, options->progress);
  return [options] { return command::make_result(compare(*options)); };
}

void add_selection(CLI::App& app, Selection& selection) {
  add_path(app, "DATASET", selection.path, "The dataset");
  add_step(app, selection.step);
  add_fields(app, selection.fields);
}

command::Run declare_read(CLI::App& app) {
  const auto selection = std::make_shared<Selection>();
  add_selection(app, *selection);
  return [selection] {
    const Status done = stream_blocks(*selection, stdout);
    return done ? command::CommandResult{} : command::make_failure(done.error());
  };
}

command::Run declare_places(CLI::App& app) {
  const auto request = std::make_shared<PlacesRequest>();
  add_path(app, "DATASET", request->path, "The dataset");
  add_number(app, "--step", request->step, {}, "Only this step");
  command::add_flag(app, "--newest", request->which, PlacesRequest::Which::kNewest,
                    "Only the newest step");
  return [request] {
    const Status done = stream_places(*request, stdout);
    return done ? command::CommandResult{} : command::make_failure(done.error());
  };
}

const std::array kCommands{
    command::Command{"ls", "List steps, fields and blocks of a dataset.", declare_list},
    command::Command{"verify", "Read all of a dataset and report damage.", declare_verify},
    command::Command{"repair", "Write new tables of a dataset from its data files.",
                     declare_repair},
    command::Command{"diff", "Report where a step of two datasets differs.", declare_diff},
    command::Command{"read", "Write the blocks of a step to standard output.", declare_read},
    command::Command{"places", "Write where the blocks of all steps are stored.", declare_places},
};

}  // namespace

command::CommandResult run_command(std::span<const std::string_view> words) {
  CLI::App app("List, verify, repair, compare and export datasets; print one JSON document.",
               "forebay-dataset");
  return command::run(app, words, kCommands);
}

int run_program(int count, char** words) {
  return command::run_and_print(count, words, run_command);
}

}  // namespace forebay::dataset_tool
