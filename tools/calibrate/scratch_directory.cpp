// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/scratch_directory.hpp"

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

/// A signal has arrived; its thread ends the process.
std::atomic<bool> is_ending{false};

void remove_on_signals(const sigset_t& signals, const fs::path& directory) {
  std::thread([signals, directory] {
    int received = 0;
    sigwait(&signals, &received);
    is_ending = true;
    std::error_code ignored;
    // A running measurement may still create names.
    for (int i = 0; i < 100 && fs::exists(directory, ignored); ++i)
      fs::remove_all(directory, ignored);
    constexpr int kSignalExit = 128;  // as shells report it
    _exit(kSignalExit + received);
  }).detach();
}

}  // namespace

Result<std::unique_ptr<ScratchDirectory>> ScratchDirectory::make(const fs::path& parent) {
  const sigset_t signals = end_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::string name = (fs::absolute(parent) / ".forebay-calibrate-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return failure(
        system_error({.operation = "create a directory in", .path = parent.string()}, errno));
  }
  remove_on_signals(signals, name);
  return std::unique_ptr<ScratchDirectory>(new ScratchDirectory(name));
}

ScratchDirectory::~ScratchDirectory() {
  // The measurement failed because its directory is being removed: let the signal end the process.
  while (is_ending)
    ::pause();
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace forebay::calibrate
