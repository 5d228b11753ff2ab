// SPDX-License-Identifier: Apache-2.0
// The program forebay-emufs: mounts an emulated storage, unmounts it, and replays recordings.
// `forebay emufs` calls it. Each command prints one JSON document.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tools/emufs/arguments.hpp"
#include "tools/emufs/background.hpp"
#include "tools/emufs/emulation.hpp"
#include "tools/emufs/recording_reader.hpp"
#include "tools/emufs/replay.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::emufs {
namespace {

using nlohmann::json;

/// The configuration of a mount, after all checks that are possible before there are threads.
Result<Emulation::Config> config_of(const MountCommand& command) {
  auto machine =
      model::load_machine(command.machine, model::machine_directories(process_environment()));
  if (!machine) return failure(machine.error());
  if (command.clients > machine->client.count) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "mount " + std::to_string(command.clients) + " clients of",
                    .path = command.machine,
                    .cause = "the machine has " + std::to_string(machine->client.count) +
                             "; request fewer, or raise client.count in its file"});
  }
  machine->client.count = command.clients;
  auto paths = check_mount_paths(command.backing, command.mount_point);
  if (!paths) return failure(paths.error());
  Emulation::Config config{.paths = std::move(*paths)};
  config.settings = {.machine = std::move(*machine),
                     .backing = config.paths.backing,
                     .delay_mode = command.delay_mode,
                     .sync_mode = command.sync_mode,
                     .idle_policy = command.idle_policy,
                     .threads = command.threads};
  if (command.record.empty()) return config;
  auto record = check_record(command.record, config.paths);
  if (!record) return failure(record.error());
  config.record = std::move(*record);
  return config;
}

json document_of(const Emulation& emulation, const Emulation::Config& config) {
  return {{"machine", config.settings.machine.name},
          {"backing", config.paths.backing},
          {"mount_points", emulation.mount_points()},
          {"pid", ::getpid()},
          {"warning", emulation.warning()}};
}

/// Signals that end the program, as a descriptor; they are blocked in all threads that start later.
int end_signals() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    ::sigaddset(&wanted, number);
  ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  return ::signalfd(-1, &wanted, SFD_CLOEXEC);
}

void wait_for_end(const Emulation& emulation, int signals) {
  pollfd events[2] = {{emulation.end_event(), POLLIN, 0}, {signals, POLLIN, 0}};
  while (::poll(events, 2, -1) < 0 && errno == EINTR) {
  }
}

int run(const MountCommand& command) {
  const auto config = config_of(command);
  if (!config) return probe::print_error(config.error());
  const bool is_foreground = command.run_mode == RunMode::kForeground;
  const int caller = is_foreground ? -1 : daemonize();
  const int signals = end_signals();
  auto emulation = Emulation::start(*config);
  if (!emulation && is_foreground) return probe::print_error(emulation.error());
  if (!emulation) {
    report_startup(caller, {.exit_code = probe::kExitFailure,
                            .err = probe::error_line(emulation.error()) + "\n"});
    return probe::kExitFailure;
  }
  const std::string document = probe::document_text(document_of(**emulation, *config)) + "\n";
  if (is_foreground) {
    std::fputs(document.c_str(), stdout);
    std::fflush(stdout);
  } else {
    report_startup(caller, {.exit_code = probe::kExitSuccess, .out = document});
  }
  wait_for_end(**emulation, signals);
  return probe::kExitSuccess;
}

int run(const UnmountCommand& command) {
  std::error_code problem;
  // The kernel's list has absolute names; a dead mount allows no further path resolution.
  const auto directory = std::filesystem::absolute(command.mount_point).lexically_normal();
  const auto parent = std::filesystem::canonical(directory.parent_path(), problem);
  std::string path = problem ? directory.string() : (parent / directory.filename()).string();
  if (path.ends_with('/')) path.pop_back();
  const auto ended = unmount_all(path, command.mode);
  if (!ended) return probe::print_error(ended.error());
  return probe::print_document(json{{"mount_point", path}});
}

int run(const RecordInfoCommand& command) {
  const auto summary = summarize(command.record);
  if (!summary) return probe::print_error(summary.error());
  return probe::print_document(to_json(*summary));
}

int run(const ReplayCommand& command) {
  const auto replayed = replay(command);
  if (!replayed) return probe::print_error(replayed.error());
  return probe::print_document(to_json(*replayed));
}

int run(const HelpCommand&) {
  std::fputs(kUsage, stdout);
  return probe::kExitSuccess;
}

}  // namespace

int run_program(int count, char** words) {
  const auto command = parse_command({words + 1, static_cast<std::size_t>(count - 1)});
  if (!command) return probe::print_usage_error(command.error().cause());
  return std::visit([](const auto& one) { return run(one); }, *command);
}

}  // namespace forebay::emufs
