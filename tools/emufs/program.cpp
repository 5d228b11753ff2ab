// SPDX-License-Identifier: Apache-2.0
// The program forebay-emufs: mounts an emulated storage, unmounts it, and replays recordings.
// `forebay emufs` calls it. Each command prints one JSON document.
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/config.hpp"
#include "tools/emufs/arguments.hpp"
#include "tools/emufs/background.hpp"
#include "tools/emufs/emulation.hpp"
#include "tools/emufs/mounts.hpp"
#include "tools/emufs/recording_reader.hpp"
#include "tools/emufs/replay.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::emufs {
namespace {

using nlohmann::json;

/// Success if emufs emulates all tables of the machine.
Status check_tables(const model::Machine& machine, const std::string& name) {
  const char* const table = machine.network                             ? "[network]"
                            : machine.io_nodes != model::IoNodes{}      ? "[io_nodes]"
                            : machine.sharing != model::Sharing{}       ? "[sharing]"
                            : machine.storage != model::StorageLimits{} ? "[storage]"
                                                                        : nullptr;
  if (table == nullptr) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "mount",
                  .path = name,
                  .cause = std::string("emufs does not emulate ") + table +
                           "; choose a machine without this table"});
}

/// The configuration of a mount, after all checks that are possible before there are threads.
Result<Emulation::Config> config_of(const MountCommand& command) {
  auto machine =
      model::load_machine(command.machine, model::machine_directories(process_environment()));
  if (!machine) return failure(machine.error());
  if (const Status known = check_tables(*machine, command.machine); !known)
    return failure(known.error());
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
                     .threads = command.threads,
                     .attribute_cache_s = command.attribute_cache_s};
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

int unmount(const std::string& mount_point, UnmountMode mode) {
  std::error_code problem;
  // The kernel's list has absolute names; a dead mount allows no further path resolution.
  const auto directory = std::filesystem::absolute(mount_point).lexically_normal();
  const auto parent = std::filesystem::canonical(directory.parent_path(), problem);
  std::string path = problem ? directory.string() : (parent / directory.filename()).string();
  if (path.ends_with('/')) path.pop_back();
  const auto ended = unmount_all(path, mode);
  if (!ended) return probe::print_error(ended.error());
  return probe::print_document(json{{"mount_point", path}});
}

template <class Document>
command::CommandResult print(const Result<Document>& document) {
  return {.exit_code = probe::print_document(
              document.map([](const Document& value) { return to_json(value); }))};
}

command::Run declare_mount(CLI::App& app) {
  const auto mount = std::make_shared<MountCommand>();
  add_mount(app, *mount);
  return [mount] { return command::CommandResult{.exit_code = run(*mount)}; };
}

command::Run declare_unmount(CLI::App& app) {
  const auto mount_point = std::make_shared<std::string>();
  const auto mode = std::make_shared<UnmountMode>(UnmountMode::kIfUnused);
  command::add_path(app, "MOUNT_POINT", *mount_point, "The mount");
  command::add_flag(app, "--lazy", *mode, UnmountMode::kLazy,
                    "Detach it now; it ends when it is no longer used");
  return [mount_point, mode] {
    return command::CommandResult{.exit_code = unmount(*mount_point, *mode)};
  };
}

command::Run declare_record_info(CLI::App& app) {
  const auto record = std::make_shared<std::string>();
  command::add_path(app, "RECORD", *record, "The recording");
  return [record] { return print(summarize(*record)); };
}

command::Run declare_replay(CLI::App& app) {
  const auto request = std::make_shared<ReplayCommand>();
  add_replay(app, *request);
  return [request] { return print(replay(*request)); };
}

const std::array kCommands{
    command::Command{"mount", "Mount a directory as the storage of a machine.", declare_mount},
    command::Command{"unmount", "Unmount all clients of a mount, also after a crash.",
                     declare_unmount},
    command::Command{"record-info", "Print the number of changes and syncs in a recording.",
                     declare_record_info},
    command::Command{"replay", "Create a state that a power cut could leave.", declare_replay},
};

command::CommandResult run_command(command::Words words) {
  CLI::App app("Emulate the storage of a machine; print one JSON document.", "forebay-emufs");
  return command::run(app, words, kCommands);
}

}  // namespace

int run_program(int count, char** words) {
  return command::run_and_print(count, words, run_command);
}

}  // namespace forebay::emufs
