// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/own_folder.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace forebay::calibrate {

namespace fs = std::filesystem;

namespace {

sigset_t end_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int one : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&signals, one);
  return signals;
}

/// A signal has arrived, whose thread ends the process.
std::atomic<bool> is_ending{false};

void remove_on(const sigset_t& signals, const fs::path& folder) {
  std::thread([signals, folder] {
    int received = 0;
    sigwait(&signals, &received);
    is_ending = true;
    std::error_code ignored;
    // What is being measured meanwhile may still make names.
    for (int i = 0; i < 100 && fs::exists(folder, ignored); ++i)
      fs::remove_all(folder, ignored);
    constexpr int kSignalExit = 128;  // as shells report it
    _exit(kSignalExit + received);
  }).detach();
}

}  // namespace

Result<std::unique_ptr<OwnFolder>> OwnFolder::make(const fs::path& parent) {
  const sigset_t signals = end_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::string name = (fs::absolute(parent) / ".forebay-calibrate-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return failure(system_error({.operation = "make a folder in", .path = parent.string()}, errno));
  }
  remove_on(signals, name);
  return std::unique_ptr<OwnFolder>(new OwnFolder(name));
}

OwnFolder::~OwnFolder() {
  // The measurement failed since its folder is being removed: the signal is why the process ends.
  while (is_ending)
    ::pause();
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace forebay::calibrate
