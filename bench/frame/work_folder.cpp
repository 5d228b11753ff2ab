// SPDX-License-Identifier: Apache-2.0
// Making and surely removing the folder of a run.
#include "bench/frame/work_folder.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace forebay::bench {

namespace fs = std::filesystem;

Result<WorkFolder> WorkFolder::make(const fs::path& parent) {
  std::string name = (fs::absolute(parent) / ".forebay-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    const int error_number = errno;
    return tl::unexpected(system_error(
        {.operation = "make a work folder in", .path = parent.string()}, error_number));
  }
  return WorkFolder(fs::path(name));
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept : path_(std::move(other.path_)) {
  other.path_.clear();
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void remove_on_signals(const fs::path& folder) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int one : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&signals, one);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals, folder] {
    int received = 0;
    sigwait(&signals, &received);
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    constexpr int kSignalExit = 128;  // as shells report it
    _exit(kSignalExit + received);
  }).detach();
}

}  // namespace forebay::bench
