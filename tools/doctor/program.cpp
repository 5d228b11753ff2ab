// SPDX-License-Identifier: Apache-2.0
// The program forebay-doctor: prints one JSON document about this machine and one directory.
// `forebay doctor` calls it, adds facts of Python, and gives advice.
#include <string>

#include <nlohmann/json.hpp>

#include "base/config.hpp"
#include "command/cli.hpp"
#include "tools/doctor/examine.hpp"
#include "tools/doctor/measure.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::doctor {
namespace {

enum class Measuring : std::uint8_t { kYes, kNo };

struct DoctorCommand {
  std::string directory = ".";
  Measuring measuring = Measuring::kYes;
  probe::ProgressMode progress_mode = probe::ProgressMode::kSilent;
};

int run(const DoctorCommand& command) {
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
        command.directory, {.backend = settings.options.tuning.backend}, on_progress);
    if (!measured) return probe::print_error(measured.error());
    (*document)["storage"] = to_json(*measured);
  }
  return probe::print_document(document);
}

command::CommandResult run_command(command::Words words) {
  DoctorCommand request;
  CLI::App app("Examine this machine and a directory; print one JSON document.", "forebay-doctor");
  command::add_text(app, "--dir", "DIRECTORY", request.directory, "Directory to examine [.]");
  command::add_flag(app, "--no-measure", request.measuring, Measuring::kNo,
                    "Do not measure the storage");
  command::add_progress(app, request.progress_mode);
  return command::run(app, words,
                      [&] { return command::CommandResult{.exit_code = run(request)}; });
}

}  // namespace

int run_program(int count, char** words) {
  return command::run_and_print(count, words, run_command);
}

}  // namespace forebay::doctor
