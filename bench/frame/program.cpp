// SPDX-License-Identifier: Apache-2.0
// Runs one benchmark and prints one JSON document about it. `forebay bench` calls such programs and
// draws tables and figures.
#include "bench/frame/program.hpp"

#include <forebay/temporary_file.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <thread>
#include <tuple>

#include <fcntl.h>
#include <nlohmann/json.hpp>

#include "base/config.hpp"
#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/command.hpp"
#include "bench/frame/work_directory.hpp"
#include "model/profile_path.hpp"
#include "storage/file_system.hpp"
#include "stream/in_flight_limit.hpp"
#include "tools/probe/file_system.hpp"
#include "tools/probe/host_info.hpp"

namespace forebay::bench {
namespace {

void print(const nlohmann::json& document) { std::puts(probe::document_text(document).c_str()); }

/// Replaces the file atomically. After a failure the former file remains.
void save_document(const nlohmann::json& document, const std::filesystem::path& path) {
  auto made = TemporaryFile::create_beside(path);
  if (!made) return;
  std::ofstream file(made->path());
  file << probe::document_text(document);
  file.close();
  if (file) std::ignore = made->publish();
}

// The limit of bytes in flight for streams to the directory, and its profile: benchmarks use the
// profile of their user, as programs do.
nlohmann::json limit_of(const std::filesystem::path& directory) {
  const std::string path = model::active_profile_path(process_environment());
  const auto profile = path.empty() ? model::Profile() : model::load_profile(path);
  if (!profile) return {{"profile", path}, {"reason", profile.error().message()}};
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto limit =
      stream::in_flight_limit(*profile, directory, storage::file_system_of(opened.get()));
  return {{"profile", path.empty() ? nlohmann::json() : nlohmann::json(path)},
          {"bytes", limit.bytes},
          {"reason", limit.reason}};
}

// Facts about the machine, and the load by other programs during the measurement.
class MachineBlock {
 public:
  explicit MachineBlock(const std::filesystem::path& directory) {
    json_ = to_json(probe::describe_host());
    json_["load_before"] = to_json(probe::current_load_average());
    if (const auto found = probe::describe_file_system(directory)) {
      json_["file_system"] = to_json(*found);
    }
    json_["in_flight"] = limit_of(directory);
  }

  nlohmann::json finish() {
    // Other ranks of the job do not count as other programs.
    const double others_seconds =
        probe::busy_cpu_seconds() - busy_before_ - (probe::program_cpu_seconds() - own_before_);
    json_["load_after"] = to_json(probe::current_load_average());
    json_["others_busy_cores"] = std::max(0.0, others_seconds / watch_.seconds());
    return json_;
  }

 private:
  nlohmann::json json_;
  double busy_before_ = probe::busy_cpu_seconds();
  double own_before_ = probe::program_cpu_seconds();
  Stopwatch watch_;
};

Status run_body(const Benchmark& benchmark, Context& context) {
  try {
    return benchmark.body(context);
  } catch (const tl::bad_expected_access<Error>& failed) {
    return failure(failed.error());
  } catch (const std::exception& thrown) {
    return failure({.kind = ErrorClass::kException,
                    .operation = "run benchmark " + benchmark.name,
                    .cause = thrown.what()});
  }
}

nlohmann::json parameters_of(const Context& context, const Command& command) {
  nlohmann::json parameters = context.parameters();
  parameters["quick"] = context.quick();
  parameters["full"] = context.full();
  if (!command.only.empty()) parameters["only"] = command.only;
  return parameters;
}

std::string unknown_id_message(const Context& context) {
  std::string text = "unknown id: " + context.unknown_ids().front() + "; valid ids:";
  for (const std::string& id : context.known_ids())
    text += " " + id;
  return text;
}

int run(const Benchmark& benchmark, const Command& command) {
  const Result<WorkDirectory> directory = WorkDirectory::make(command.parent);
  if (!directory) return probe::print_error(directory.error());
  remove_on_signals(directory->path());
  Context context({command.effort, directory->path(), command.only, command.progress_mode});
  MachineBlock machine(directory->path());
  const auto document = [&] {
    return to_json(Report{benchmark.name, parameters_of(context, command), machine.finish(),
                          context.rows(), context.skipped()});
  };
  if (!command.partial_results.empty())
    context.on_result([&] { save_document(document(), command.partial_results); });
  const Status status = run_body(benchmark, context);
  if (status && !context.unknown_ids().empty())
    return probe::print_usage_error(unknown_id_message(context));
  print(document());
  return status ? probe::kExitSuccess : probe::print_error(status.error());
}

}  // namespace

int run_command(const Command& command) {
  if (command.action == Action::kHelp) {
    std::fputs(command.help.c_str(), stdout);
    return probe::kExitSuccess;
  }
  if (command.action == Action::kList) {
    print(list_json(all_benchmarks()));
    return probe::kExitSuccess;
  }
  if (command.action == Action::kMachine) {
    MachineBlock machine(command.parent);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    print(machine.finish());
    return probe::kExitSuccess;
  }
  if (command.action == Action::kClean) {
    remove_stale_directories(command.parent);
    print(nlohmann::json::object());
    return probe::kExitSuccess;
  }
  const auto found = all_benchmarks().find(command.name);
  if (found == all_benchmarks().end())
    return probe::print_usage_error("no benchmark named " + command.name);
  return run(found->second, command);
}

int run_program(std::span<const char* const> words) {
  const auto command = parse_command(words);
  return command ? run_command(*command) : probe::print_usage_error(command.error().cause());
}

}  // namespace forebay::bench
