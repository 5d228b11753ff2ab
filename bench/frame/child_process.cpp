// SPDX-License-Identifier: Apache-2.0
#include "bench/frame/child_process.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): not in all headers

namespace forebay::bench {

namespace fs = std::filesystem;

namespace {

/// Pointers to words, as the system expects.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The environment of this process, in which `settings` replace variables of the same names.
std::vector<std::string> environment_with(const EnvironmentVariables& settings) {
  std::vector<std::string> all = settings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view other = *entry;
    const auto name = other.substr(0, other.find('=') + 1);
    const auto replaces = [&](const std::string& one) { return one.rfind(name, 0) == 0; };
    if (std::none_of(settings.begin(), settings.end(), replaces)) all.emplace_back(other);
  }
  return all;
}

/// "/directory" of "--directory=/directory".
std::string path_in(const std::string& word) {
  return word.rfind("--", 0) == 0 ? word.substr(word.find('=') + 1) : word;
}

}  // namespace

Status run_child(const std::vector<std::string>& words, const EnvironmentVariables& settings) {
  std::vector<std::string> copies = words;
  std::vector<std::string> variables = environment_with(settings);
  const std::vector<char*> arguments = pointers_to(copies);
  const std::vector<char*> environment = pointers_to(variables);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int refused =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  const std::string name = fs::path(words.front()).filename().string();
  const ErrorDetails where{.operation = "run " + name, .path = path_in(words.back())};
  if (refused != 0) return failure(system_error(where, refused));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return failure({.kind = ErrorClass::kIo,
                  .operation = where.operation,
                  .path = where.path,
                  .cause = "it failed; see its message above"});
}

std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): never set
  std::istringstream directories(path != nullptr ? path : "");
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string candidate = (fs::path(directory) / name).string();
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace forebay::bench
