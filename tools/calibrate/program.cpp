// SPDX-License-Identifier: Apache-2.0
// The program forebay-calibrate: measures the storage of a directory. Prints the machine file that
// describes it, or the profile entry that it wrote, with the measurements, as one JSON document.
// `forebay calibrate` calls it.
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "command/cli.hpp"
#include "model/machine.hpp"
#include "model/queueing.hpp"
#include "tools/calibrate/fit.hpp"
#include "tools/calibrate/in_flight_document.hpp"
#include "tools/calibrate/observe.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::calibrate {
namespace {

/// What to measure.
enum class Subject : std::uint8_t { kMachine, kInFlight };

struct CalibrateCommand {
  Subject subject = Subject::kMachine;
  std::string directory = ".";
  std::string name;
  std::string about;
  std::string profile;
  ObserveLimits limits;
  InFlightLimits in_flight_limits;
  probe::ProgressMode progress_mode = probe::ProgressMode::kSilent;
};

void apply_quick(CalibrateCommand& request) {
  request.limits.seconds_each = 0.02;
  request.limits.rounds = 1;
  request.limits.metadata_files = 20;
  request.limits.syncs = 3;
  request.in_flight_limits.in_flight_bytes = {4_MiB, 16_MiB, 64_MiB};
  request.in_flight_limits.seconds_each = 0.05;
  request.in_flight_limits.rounds = 1;
}

/// Whole blocks of 1 MiB.
void parse_file_bytes(CalibrateCommand& request, const std::string& value) {
  const std::uint64_t bytes = command::parse_number("--bytes", value, {.min = 1_MiB});
  if (bytes % 1_MiB != 0)
    command::reject("--bytes must be a multiple of 1 MiB, not '" + value + "'");
  request.limits.file_bytes = request.in_flight_limits.file_bytes = bytes;
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

Result<nlohmann::json> calibrate_machine(const CalibrateCommand& request,
                                         const ProgressCallback& on_progress) {
  return observe(request.directory, request.limits, on_progress)
      .map([&](Observations observations) {
        observations.name = request.name;
        observations.about = request.about;
        return machine_document(observations);
      });
}

int run(const CalibrateCommand& request) {
  probe::Progress progress(request.progress_mode);
  const ProgressCallback on_progress = [&progress](const probe::ProgressStep& step) {
    progress.report(step);
  };
  const auto document = request.subject == Subject::kMachine
                            ? calibrate_machine(request, on_progress)
                            : calibrate_in_flight({.directory = request.directory,
                                                   .profile = request.profile,
                                                   .about = request.about,
                                                   .limits = request.in_flight_limits},
                                                  on_progress);
  return probe::print_document(document);
}

void add_options(CLI::App& app, CalibrateCommand& request) {
  using command::add_flag;
  using command::add_text;
  add_text(app, "--dir", "DIRECTORY", request.directory, "Directory to measure [.]");
  add_text(app, "--name", "NAME", request.name, "Name of the machine");
  add_flag(app, "--in-flight", request.subject, Subject::kInFlight,
           "Measure the best number of bytes in flight, and write it to a profile");
  add_text(app, "--profile", "FILE", request.profile, "The profile [that of this user]");
  add_text(app, "--about", "TEXT", request.about, "Author and date of the measurement");
  const auto parse = [&request](const std::string& value) { parse_file_bytes(request, value); };
  command::add_value(app, "--bytes", "N", parse, "Bytes of the file to measure with");
  add_flag(app, "--quick", [&request] { apply_quick(request); }, "Measure less");
  command::add_progress(app, request.progress_mode);
}

command::CommandResult run_command(command::Words words) {
  CalibrateCommand request;
  CLI::App app(
      "Measure the storage of a directory; print its machine file, or the profile entry that was "
      "written, as one JSON document.",
      "forebay-calibrate");
  add_options(app, request);
  return command::run(app, words, [&]() -> command::CommandResult {
    if (request.subject == Subject::kMachine && request.name.empty())
      return command::make_failure(command::usage_error("--name is required without --in-flight"));
    return {.exit_code = run(request)};
  });
}

}  // namespace

int run_program(int count, char** words) {
  return command::run_and_print(count, words, run_command);
}

}  // namespace forebay::calibrate
