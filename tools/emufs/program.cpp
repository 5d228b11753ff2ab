// SPDX-License-Identifier: Apache-2.0
// The program forebay-emufs: mounts an emulated storage, unmounts it, and makes folders of
// recordings. `forebay emufs` calls it. Each command prints one JSON document.
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
#include "tools/emufs/recording_files.hpp"
#include "tools/emufs/replay.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::emufs {
namespace {

using nlohmann::json;

/// The plan of a mount, with everything checked that can be before there are threads.
Result<Emulation::Plan> plan_of(const MountCommand& command) {
  auto machine =
      model::load_machine(command.machine, model::machine_folders(process_environment()));
  if (!machine) return failure(machine.error());
  if (command.clients > machine->client.count) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "mount " + std::to_string(command.clients) + " clients of",
                    .path = command.machine,
                    .cause = "the machine has " + std::to_string(machine->client.count) +
                             "; ask for fewer, or raise client.count in its file"});
  }
  machine->client.count = command.clients;
  auto places = check_places(command.backing, command.mount_point);
  if (!places) return failure(places.error());
  Emulation::Plan plan{.places = std::move(*places)};
  plan.settings = {.machine = std::move(*machine),
                   .backing = plan.places.backing,
                   .delays = command.delays,
                   .syncing = command.syncing,
                   .idling = command.idling,
                   .threads = command.threads};
  if (command.record.empty()) return plan;
  auto record = check_record(command.record, plan.places);
  if (!record) return failure(record.error());
  plan.record = std::move(*record);
  return plan;
}

json document_of(const Emulation& emulation, const Emulation::Plan& plan) {
  return {{"machine", plan.settings.machine.name},
          {"backing", plan.places.backing},
          {"mount_points", emulation.mount_points()},
          {"pid", ::getpid()},
          {"remark", emulation.remark()}};
}

/// Signals that ask us to end, as a descriptor; they are blocked for all threads that follow.
int end_signals() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    ::sigaddset(&wanted, number);
  ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  return ::signalfd(-1, &wanted, SFD_CLOEXEC);
}

void wait_for_end(const Emulation& emulation, int signals) {
  pollfd events[2] = {{emulation.ended(), POLLIN, 0}, {signals, POLLIN, 0}};
  while (::poll(events, 2, -1) < 0 && errno == EINTR) {
  }
}

int run(const MountCommand& command) {
  const auto plan = plan_of(command);
  if (!plan) return probe::print_error(plan.error());
  const bool stays = command.stay == Stay::kForeground;
  const int caller = stays ? -1 : go_to_background();
  const int signals = end_signals();
  auto emulation = Emulation::start(*plan);
  if (!emulation && stays) return probe::print_error(emulation.error());
  if (!emulation) {
    give_verdict(caller, {.exit_code = probe::kExitFailed,
                          .err = probe::error_line(emulation.error()) + "\n"});
    return probe::kExitFailed;
  }
  const std::string document = probe::document_text(document_of(**emulation, *plan)) + "\n";
  if (stays) {
    std::fputs(document.c_str(), stdout);
    std::fflush(stdout);
  } else {
    give_verdict(caller, {.exit_code = probe::kExitDone, .out = document});
  }
  wait_for_end(**emulation, signals);
  return probe::kExitDone;
}

int run(const UnmountCommand& command) {
  std::error_code problem;
  // The kernel's list has absolute names; that of a dead mount must not be asked for more.
  const auto folder = std::filesystem::absolute(command.mount_point).lexically_normal();
  const auto parent = std::filesystem::canonical(folder.parent_path(), problem);
  std::string path = problem ? folder.string() : (parent / folder.filename()).string();
  if (path.ends_with('/')) path.pop_back();
  const auto ended = unmount_all(path, command.how);
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
  return probe::kExitDone;
}

}  // namespace

int run_program(int count, char** words) {
  const auto command = parse_command({words + 1, static_cast<std::size_t>(count - 1)});
  if (!command) return probe::print_usage_error(command.error().cause());
  return std::visit([](const auto& one) { return run(one); }, *command);
}

}  // namespace forebay::emufs
