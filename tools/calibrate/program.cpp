// SPDX-License-Identifier: Apache-2.0
// The program forebay-calibrate: measures the storage of a directory. Prints the machine file that
// describes it, or the profile entry that it wrote, with the measurements, as one JSON document.
// `forebay calibrate` calls it.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "model/machine.hpp"
#include "model/queueing.hpp"
#include "tools/calibrate/fit.hpp"
#include "tools/calibrate/in_flight_document.hpp"
#include "tools/calibrate/observe.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::calibrate {
namespace {

const char* const kUsage =
    "usage: forebay-calibrate --dir DIRECTORY --name NAME --about TEXT [--bytes N] [--quick]\n"
    "                         [--progress]\n"
    "       forebay-calibrate --in-flight --dir DIRECTORY [--profile FILE] --about TEXT\n"
    "                         [--bytes N] [--quick] [--progress]\n"
    "Prints one JSON document. --progress writes JSON lines to standard error.\n";

/// What to measure.
enum class Subject : std::uint8_t { kMachine, kInFlight };

struct Command {
  Subject subject = Subject::kMachine;
  std::filesystem::path directory = ".";
  std::string name;
  std::string about;
  std::string profile;
  ObserveLimits limits;
  InFlightLimits in_flight_limits;
  probe::ProgressMode progress_mode = probe::ProgressMode::kSilent;
  bool help = false;
  std::string usage_error;  ///< empty if all words are valid
};

bool parse_number(std::string_view text, std::uint64_t& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

/// Whole blocks of 1 MiB.
bool parse_bytes(Command& command, const std::string& value) {
  std::uint64_t bytes = 0;
  if (!parse_number(value, bytes) || bytes < 1_MiB || bytes % 1_MiB != 0) return false;
  command.limits.file_bytes = command.in_flight_limits.file_bytes = bytes;
  return true;
}

/// False if the option takes no value, or the value is invalid.
bool parse_value(Command& command, std::string_view option, const std::string& value) {
  if (option == "--dir") {
    command.directory = value;
  } else if (option == "--name") {
    command.name = value;
  } else if (option == "--about") {
    command.about = value;
  } else if (option == "--profile") {
    command.profile = value;
  } else {
    return option == "--bytes" && parse_bytes(command, value);
  }
  return true;
}

void apply_quick(Command& command) {
  command.limits.seconds_each = 0.02;
  command.limits.rounds = 1;
  command.limits.metadata_files = 20;
  command.in_flight_limits.in_flight_bytes = {4_MiB, 16_MiB, 64_MiB};
  command.in_flight_limits.seconds_each = 0.05;
  command.in_flight_limits.rounds = 1;
}

Command parse(int count, char** words) {
  Command command;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--progress") {
      command.progress_mode = probe::ProgressMode::kJsonLines;
    } else if (word == "--quick") {
      apply_quick(command);
    } else if (word == "--in-flight") {
      command.subject = Subject::kInFlight;
    } else if (word == "--help") {
      command.help = true;
    } else if (i + 1 < count && parse_value(command, word, words[i + 1])) {
      ++i;
    } else {
      command.usage_error = "unknown or incomplete option " + word;
    }
  }
  const bool needs_name = command.subject == Subject::kMachine && !command.help;
  if (needs_name && command.name.empty()) command.usage_error = "--name is missing";
  return command;
}

/// Measured rates, and the rates of the fitted server beside them.
class LoadTable {
 public:
  LoadTable(const model::ServerGroup& server, model::RequestKind kind)
      : server_(server), kind_(kind) {}

  nlohmann::json rows(const LoadCurve& load) const {
    auto list = nlohmann::json::array();
    for (const LoadPoint& point : load.small)
      list.push_back(row(point, load.small_bytes));
    for (const LoadPoint& point : load.large)
      list.push_back(row(point, load.large_bytes));
    return list;
  }

 private:
  nlohmann::json row(const LoadPoint& point, std::uint64_t request_bytes) const {
    const auto bytes = static_cast<double>(request_bytes);
    const double modelled =
        model::rate_mb_per_s(server_, {.kind = kind_,
                                       .request_bytes = request_bytes,
                                       .in_flight = static_cast<double>(point.depth)});
    return {{"depth", point.depth},
            {"request_bytes", request_bytes},
            {"bytes_per_second", point.requests_per_second.median * bytes},
            {"low", point.requests_per_second.low * bytes},
            {"high", point.requests_per_second.high * bytes},
            {"model", modelled * 1e6}};
  }

  const model::ServerGroup& server_;
  model::RequestKind kind_;
};

nlohmann::json machine_document(const Observations& observations) {
  const model::Machine machine = fit(observations);
  auto values = nlohmann::json::array();
  for (const model::MachineValue& one : model::describe(machine))
    values.push_back({{"key", one.key}, {"value", one.value}, {"source", one.source.value_or("")}});
  const model::ServerGroup& server = machine.servers.front();
  return {{"machine", model::to_toml(machine)},
          {"values", std::move(values)},
          {"read", LoadTable(server, model::RequestKind::kRead).rows(observations.read)},
          {"write", LoadTable(server, model::RequestKind::kWrite).rows(observations.write)}};
}

Result<nlohmann::json> calibrate_machine(const Command& command,
                                         const ProgressCallback& on_progress) {
  return observe(command.directory, command.limits, on_progress)
      .map([&](Observations observations) {
        observations.name = command.name;
        observations.about = command.about;
        return machine_document(observations);
      });
}

int run(const Command& command) {
  probe::Progress progress(command.progress_mode);
  const ProgressCallback on_progress = [&progress](const probe::ProgressStep& step) {
    progress.report(step);
  };
  const auto document = command.subject == Subject::kMachine
                            ? calibrate_machine(command, on_progress)
                            : calibrate_in_flight({.directory = command.directory,
                                                   .profile = command.profile,
                                                   .about = command.about,
                                                   .limits = command.in_flight_limits},
                                                  on_progress);
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

}  // namespace forebay::calibrate
