// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/fault_commands.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <linux/openat2.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/emufs/file_system.hpp"

namespace forebay::emufs {

namespace {

using model::ServerCondition;
using model::ServerId;
using nlohmann::json;

bool is_same_server(ServerId a, ServerId b) { return a.kind == b.kind && a.index == b.index; }

/// A non-negative integer, or the fallback if the key is absent.
std::optional<std::uint64_t> number_value(const json& command,
                                          const char* key,
                                          std::optional<std::uint64_t> fallback = {}) {
  const auto it = command.find(key);
  if (it == command.end()) return fallback;
  if (!it->is_number_unsigned()) return std::nullopt;
  return it->get<std::uint64_t>();
}

std::string text_value(const json& command, const char* key, const char* fallback) {
  const auto it = command.find(key);
  return it != command.end() && it->is_string() ? it->get<std::string>() : fallback;
}

std::optional<FaultOperation> parse_fault_operation(const std::string& operation) {
  if (operation == "read") return FaultOperation::kRead;
  if (operation == "write") return FaultOperation::kWrite;
  if (operation == "both") return FaultOperation::kBoth;
  if (operation == "sync") return FaultOperation::kSync;
  return std::nullopt;
}

/// An O_PATH descriptor of a file or directory. Neither ".." nor a link leads out of the backing
/// directory: that gives EXDEV, whether or not the target exists.
ErrnoResult<Descriptor> open_beneath(const Inode& root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH;
  Descriptor named(
      static_cast<int>(::syscall(SYS_openat2, root.fd(), path.c_str(), &how, sizeof(how))));
  if (!named) return errno_failure(errno);
  return named;
}

int add_eio(EmulatedFileSystem& file_system, const json& command) {
  const std::string path = text_value(command, "path", "");
  const auto offset = number_value(command, "offset", 0);
  const auto size = number_value(command, "size", kAll);
  const std::string operation = text_value(command, "on", "both");
  if (path.empty() || path.front() == '/' || !offset || !size) return EINVAL;
  const auto when = parse_fault_operation(operation);
  if (!when) return EINVAL;
  auto named = open_beneath(file_system.inodes.root(), path);
  if (!named) return named.error();
  auto held = std::make_shared<Descriptor>(std::move(*named));
  struct stat file{};
  if (::fstat(held->get(), &file) != 0) return errno;
  return file_system.faults.add(
      {id_of({file.st_dev, file.st_ino}), path, {*offset, *size}, *when, std::move(held)});
}

std::optional<ServerCondition> condition_of(const std::string& state, double slowness) {
  using State = ServerCondition::State;
  if (!(slowness > 0 && slowness <= model::kSlownessMax)) return std::nullopt;
  if (state == "works") return ServerCondition{State::kRunning, slowness};
  if (state == "stall") return ServerCondition{State::kStopped, slowness};
  if (state == "drop") return ServerCondition{State::kDropping, slowness};
  return std::nullopt;
}

void apply_fault(EmulatedFileSystem& file_system, const ServerFault& fault) {
  file_system.scheduler->with_model([&fault](model::StorageModel& model, model::Time now) {
    model.set_condition(now, fault.server, fault.condition);
  });
}

int set_server(EmulatedFileSystem& file_system, const json& command) {
  const auto number = number_value(command, "number");
  const bool metadata = command.value("metadata", false);
  const model::Machine& machine = file_system.settings.machine;
  const std::uint32_t count = metadata ? machine.metadata.servers : machine.server_count();
  if (!number || *number >= count) return EINVAL;
  const std::string state = text_value(command, "state", "works");
  const auto condition = condition_of(state, command.value("slowness", 1.0));
  if (!condition) return EINVAL;
  const ServerId server{metadata ? ServerId::Kind::kMetadata : ServerId::Kind::kData,
                        static_cast<std::uint32_t>(*number)};
  const ServerFault fault{server, *condition, state};
  file_system.server_faults.set(fault);
  apply_fault(file_system, fault);
  return 0;
}

int clear(EmulatedFileSystem& file_system) {
  file_system.faults.clear();
  for (ServerFault& fault : file_system.server_faults.take_all()) {
    fault.condition = {};
    apply_fault(file_system, fault);
  }
  return 0;
}

int apply_command(EmulatedFileSystem& file_system, const json& command) {
  const std::string kind = text_value(command, "kind", "");
  if (kind == "eio") return add_eio(file_system, command);
  if (kind == "server") return set_server(file_system, command);
  if (kind == "clear") return clear(file_system);
  if (kind == "enospc") {
    const auto after = number_value(command, "after");
    if (!after) return EINVAL;
    file_system.faults.set_space(*after);
    return 0;
  }
  if (kind != "edquot") return EINVAL;
  const auto user = number_value(command, "uid");
  const auto limit = number_value(command, "limit");
  if (!user || *user > UINT32_MAX || !limit) return EINVAL;
  file_system.faults.set_quota(static_cast<uid_t>(*user), *limit);
  return 0;
}

}  // namespace

void ServerFaults::set(const ServerFault& fault) {
  const std::lock_guard lock(mutex_);
  std::erase_if(faults_,
                [&](const ServerFault& old) { return is_same_server(old.server, fault.server); });
  const bool works =
      fault.condition.state == ServerCondition::State::kRunning && fault.condition.slowness == 1;
  if (!works) faults_.push_back(fault);
}

std::vector<ServerFault> ServerFaults::all() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

std::vector<ServerFault> ServerFaults::take_all() {
  const std::lock_guard lock(mutex_);
  return std::exchange(faults_, {});
}

int apply_fault_command(EmulatedFileSystem& file_system, std::string_view text) {
  const json command = json::parse(text, nullptr, false);
  if (!command.is_object()) return EINVAL;
  try {
    return apply_command(file_system, command);
  } catch (const json::type_error&) {
    return EINVAL;
  }
}

}  // namespace forebay::emufs
