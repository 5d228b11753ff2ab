// SPDX-License-Identifier: Apache-2.0
#include "emulated_storage.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace forebay::faults {

namespace {

using nlohmann::json;

struct MountPaths {
  std::string backing;
  std::string point;
  EmulatedStorage::Setup setup;
};

/// Executes forebay-emufs, which ends when the thread that called fork() does.
[[noreturn]] void exec_emufs(const MountPaths& paths, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  const std::string& record = paths.setup.record;
  const std::string& machine = paths.setup.machine;
  const std::string clients = std::to_string(paths.setup.clients);
  std::vector<const char*> words{FOREBAY_EMUFS, "mount",         "--foreground", "--no-sync",
                                 "--clients",   clients.c_str(), "--machine",    FOREBAY_MACHINE};
  if (!machine.empty()) words.back() = machine.c_str();
  if (!record.empty()) words.insert(words.end(), {"--record", record.c_str()});
  words.insert(words.end(), {paths.backing.c_str(), paths.point.c_str(), nullptr});
  ::execv(FOREBAY_EMUFS, const_cast<char* const*>(words.data()));
  ::_exit(127);
}

/// Output up to the end of a JSON document; the program prints nothing after it.
std::string document_from(int descriptor) {
  std::string output;
  std::array<char, 4096> some{};
  while (!json::accept(output)) {
    const ssize_t got = ::read(descriptor, some.data(), some.size());
    if (got <= 0) break;
    output.append(some.data(), static_cast<std::size_t>(got));
  }
  return output;
}

}  // namespace

EmulatedStorage::EmulatedStorage(const Setup& setup)
    : mount_point_(directory_ / "mount"),
      backing_(setup.backing.empty() ? directory_ / "backing" : setup.backing) {
  std::filesystem::create_directory(mount_point_);
  std::filesystem::create_directory(backing_);
  unavailable_reason_ = mount(setup);
}

/// Empty if it is mounted.
std::string EmulatedStorage::mount(const Setup& setup) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  process_ = ::fork();
  if (process_ == 0) exec_emufs({backing_, mount_point_, setup}, pipe[1]);
  ::close(pipe[1]);
  const std::string output = document_from(pipe[0]);
  ::close(pipe[0]);
  const json document = json::parse(output, nullptr, false);
  if (document.is_object() && document.contains("mount_points")) {
    clients_ = document["mount_points"].get<std::vector<std::string>>();
    return {};
  }
  return "forebay-emufs mounts nothing here: " + output;
}

EmulatedStorage::~EmulatedStorage() {
  if (unavailable_reason_.empty()) {
    clear_faults();
    for (const std::string& client : clients_)
      ::umount2(client.c_str(), MNT_DETACH);
  }
  ::kill(process_, SIGTERM);
  EXPECT_EQ(::waitpid(process_, nullptr, 0), process_);
}

void EmulatedStorage::command(const std::string& fault) const {
  EXPECT_EQ(::setxattr(clients_.front().c_str(), "user.emufs.fault", fault.data(), fault.size(), 0),
            0)
      << std::strerror(errno);
}

void EmulatedStorage::inject_write_errors(const std::string& name, std::uint64_t offset_bytes) {
  command(json{{"kind", "eio"}, {"path", name}, {"offset", offset_bytes}, {"on", "write"}}.dump());
}

void EmulatedStorage::inject_sync_errors(const std::string& name) {
  command(json{{"kind", "eio"}, {"path", name}, {"on", "sync"}}.dump());
}

void EmulatedStorage::set_quota(std::uint64_t size_bytes) {
  command(json{{"kind", "edquot"}, {"uid", ::getuid()}, {"limit", size_bytes}}.dump());
}

EmulatedStorage::Stall::Stall(EmulatedStorage& storage) : storage_(storage) {
  storage_.command(json{{"kind", "server"}, {"number", 0}, {"state", "stall"}}.dump());
}

EmulatedStorage::Stall::~Stall() { storage_.clear_faults(); }

void EmulatedStorage::clear_faults() { command(json{{"kind", "clear"}}.dump()); }

std::uint64_t EmulatedStorage::requests_in_flight() const {
  std::string text(std::size_t{64} << 10U, '\0');
  const ssize_t got =
      ::getxattr(clients_.front().c_str(), "user.emufs.stat", text.data(), text.size());
  EXPECT_GT(got, 0) << std::strerror(errno);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  const json document = json::parse(text, nullptr, false);
  return document.is_object() ? document["totals"]["under_way"].get<std::uint64_t>() : 0;
}

bool EmulatedStorage::wait_for_requests() const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (requests_in_flight() == 0) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace forebay::faults
