// SPDX-License-Identifier: Apache-2.0
// The program forebay-doctor: prints one JSON document about this machine and one directory.
// `forebay doctor` calls it, adds facts of Python, and gives advice.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "runtime/engine_choice.hpp"
#include "tools/doctor/examine.hpp"
#include "tools/doctor/measure.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::doctor {
namespace {

const char* const kUsage =
    "usage: forebay-doctor [--dir DIRECTORY] [--no-measure] [--progress]\n"
    "Prints one JSON document. --progress writes JSON lines to standard error.\n";

enum class Measuring : std::uint8_t { kYes, kNo };

struct Command {
  std::filesystem::path directory = ".";
  Measuring measuring = Measuring::kYes;
  probe::ProgressMode progress_mode = probe::ProgressMode::kSilent;
  bool help = false;
  std::string usage_error;  ///< empty if all words are valid
};

Command parse(int count, char** words) {
  Command command;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--no-measure") {
      command.measuring = Measuring::kNo;
    } else if (word == "--progress") {
      command.progress_mode = probe::ProgressMode::kJsonLines;
    } else if (word == "--help") {
      command.help = true;
    } else if (word == "--dir" && i + 1 < count) {
      command.directory = words[++i];
    } else {
      command.usage_error = "unknown or incomplete option " + word;
    }
  }
  return command;
}

int run(const Command& command) {
  const DoctorSettings settings = read_settings(process_environment());
  auto document = examine(command.directory, settings);
  if (!document) return probe::print_error(document.error());
  (*document)["version"] = FOREBAY_VERSION;
  (*document)["storage"] = nullptr;
  if (command.measuring == Measuring::kYes) {
    probe::Progress progress(command.progress_mode);
    const auto on_progress = [&progress](const probe::ProgressStep& step) {
      progress.report(step);
    };
    const auto measured = measure_storage(
        command.directory, {.engine = backend_choice(settings.options.engine)}, on_progress);
    if (!measured) return probe::print_error(measured.error());
    (*document)["storage"] = to_json(*measured);
  }
  return probe::print_document(document);
}

}  // namespace

int run_program(int count, char** words) {
  const Command command = parse(count, words);
  if (!command.usage_error.empty()) return probe::print_usage_error(command.usage_error);
  if (command.help) {
    std::fputs(kUsage, stdout);
    return probe::kExitSuccess;
  }
  return run(command);
}

}  // namespace forebay::doctor
