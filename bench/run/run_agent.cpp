// SPDX-License-Identifier: Apache-2.0
#include "bench/run/run_agent.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): not in all headers

namespace forebay::bench::run {

namespace {

namespace fs = std::filesystem;

constexpr int kConnectAttempts = 1000;
constexpr std::chrono::milliseconds kConnectInterval{5};

fs::path beside(const char* name) {
  return fs::read_symlink("/proc/self/exe").parent_path() / name;
}

}  // namespace

Result<std::unique_ptr<RunAgent>> RunAgent::start(const fs::path& profiles) {
  static int count = 0;
  const std::string name =
      "forebay-bench-run-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  std::array<std::string, 5> words = {beside("forebay-run-agent").string(), "--name", name,
                                      "--profiles", profiles.string()};
  std::array<char*, 6> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i)
    arguments.at(i) = words.at(i).data();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::unique_ptr<RunAgent> agent(new RunAgent());
  const int refused =
      ::posix_spawn(&agent->process_, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (refused != 0) return failure(system_error({.operation = "start", .path = words[0]}, refused));
  if (Status connected = agent->connect(name); !connected) return failure(connected.error());
  return agent;
}

Status RunAgent::connect(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(&address.sun_path[1], name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  connection_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (int attempt = 0; attempt < kConnectAttempts; ++attempt) {
    if (::connect(connection_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0) {
      std::string line;
      for (char one = 0; ::read(connection_.get(), &one, 1) == 1 && one != '\n';)
        line += one;
      const auto greeting = nlohmann::json::parse(line, nullptr, false);
      if (greeting.is_object()) memory_path_ = greeting.value("memory", "");
      if (!memory_path_.empty()) return {};
      return failure({.kind = ErrorClass::kDamage,
                      .operation = "connect to the agent " + name,
                      .cause = line.empty() ? "it has ended" : line});
    }
    std::this_thread::sleep_for(kConnectInterval);
  }
  return failure(system_error({.operation = "connect to the agent " + name}, errno));
}

RunAgent::~RunAgent() {
  connection_ = {};
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
}

EnvironmentVariables RunAgent::environment() const {
  return {"LD_PRELOAD=" + beside("libforebay_run.so").string(),
          "FOREBAY_RUN_MEMORY=" + memory_path_};
}

}  // namespace forebay::bench::run
