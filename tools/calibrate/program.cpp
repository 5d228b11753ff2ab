// SPDX-License-Identifier: Apache-2.0
// The program forebay-calibrate: measures the storage of a folder, and prints the machine file that
// describes it, or what it put into a profile, with what was measured, as one JSON document.
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
    "usage: forebay-calibrate --dir DIR --name NAME --about TEXT [--bytes N] [--quick] "
    "[--progress]\n"
    "       forebay-calibrate --in-flight --dir DIR [--profile FILE] --about TEXT [--bytes N] "
    "[--quick] [--progress]\n"
    "Prints one JSON document. --progress writes JSON lines to standard error.\n";

/// What is to be known.
enum class Subject : std::uint8_t { kMachine, kInFlight };

struct Command {
  Subject subject = Subject::kMachine;
  std::filesystem::path folder = ".";
  std::string name;
  std::string about;
  std::string profile;
  ObserveLimits limits;
  InFlightLimits in_flight_limits;
  probe::Telling telling = probe::Telling::kSilent;
  bool help = false;
  std::string complaint;  ///< empty if all words are understood
};

bool parse_number(std::string_view text, std::uint64_t& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

/// Whole blocks of 1 MiB.
bool take_bytes(Command& command, const std::string& value) {
  std::uint64_t bytes = 0;
  if (!parse_number(value, bytes) || bytes < 1_MiB || bytes % 1_MiB != 0) return false;
  command.limits.file_bytes = command.in_flight_limits.file_bytes = bytes;
  return true;
}

/// False if the option takes no value, or this one does not fit.
bool take_value(Command& command, std::string_view option, const std::string& value) {
  if (option == "--dir") {
    command.folder = value;
  } else if (option == "--name") {
    command.name = value;
  } else if (option == "--about") {
    command.about = value;
  } else if (option == "--profile") {
    command.profile = value;
  } else {
    return option == "--bytes" && take_bytes(command, value);
  }
  return true;
}

void be_quick(Command& command) {
  command.limits.seconds_each = 0.02;
  command.limits.rounds = 1;
  command.limits.names = 20;
  command.in_flight_limits.in_flight_bytes = {4_MiB, 16_MiB, 64_MiB};
  command.in_flight_limits.seconds_each = 0.05;
  command.in_flight_limits.rounds = 1;
}

Command parse(int count, char** words) {
  Command command;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--progress") {
      command.telling = probe::Telling::kTell;
    } else if (word == "--quick") {
      be_quick(command);
    } else if (word == "--in-flight") {
      command.subject = Subject::kInFlight;
    } else if (word == "--help") {
      command.help = true;
    } else if (i + 1 < count && take_value(command, word, words[i + 1])) {
      ++i;
    } else {
      command.complaint = "unknown or incomplete option " + word;
    }
  }
  const bool needs_name = command.subject == Subject::kMachine && !command.help;
  if (needs_name && command.name.empty()) command.complaint = "--name is missing";
  return command;
}

/// What was measured, and beside it what the fitted server would give.
class LoadTable {
 public:
  LoadTable(const model::ServerGroup& server, model::RequestKind kind)
      : server_(server), kind_(kind) {}

  nlohmann::json rows(const Load& load) const {
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

nlohmann::json machine_document(const Observations& seen) {
  const model::Machine machine = fit(seen);
  auto values = nlohmann::json::array();
  for (const model::MachineValue& one : model::describe(machine))
    values.push_back({{"key", one.key}, {"value", one.value}, {"source", one.source.value_or("")}});
  const model::ServerGroup& server = machine.servers.front();
  return {{"machine", model::to_toml(machine)},
          {"values", std::move(values)},
          {"read", LoadTable(server, model::RequestKind::kRead).rows(seen.read)},
          {"write", LoadTable(server, model::RequestKind::kWrite).rows(seen.write)}};
}

Result<nlohmann::json> calibrate_machine(const Command& command, const Tell& tell) {
  return observe(command.folder, command.limits, tell).map([&](Observations seen) {
    seen.name = command.name;
    seen.about = command.about;
    return machine_document(seen);
  });
}

int run(const Command& command) {
  probe::Progress progress(command.telling);
  const Tell tell = [&progress](const probe::Step& step) { progress.report(step); };
  const auto document = command.subject == Subject::kMachine
                            ? calibrate_machine(command, tell)
                            : calibrate_in_flight({.folder = command.folder,
                                                   .profile = command.profile,
                                                   .about = command.about,
                                                   .limits = command.in_flight_limits},
                                                  tell);
  return probe::print_document(document);
}

}  // namespace

int run_program(int count, char** words) {
  const Command command = parse(count, words);
  if (!command.complaint.empty()) return probe::print_usage_error(command.complaint);
  if (command.help) {
    std::fputs(kUsage, stdout);
    return probe::kExitDone;
  }
  return run(command);
}

}  // namespace forebay::calibrate
