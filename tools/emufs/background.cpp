// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/background.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace forebay::emufs {

namespace {

using nlohmann::json;

std::string read_to_end(int descriptor) {
  std::string text;
  char block[4096];
  for (;;) {
    const ssize_t got = ::read(descriptor, block, sizeof(block));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(block, static_cast<std::size_t>(got));
  }
}

[[noreturn]] void end_with(const std::string& text) {
  const json result = json::parse(text, nullptr, false);
  if (!result.is_object()) {
    std::fputs("forebay-emufs ended without a report\n", stderr);
    std::_Exit(EXIT_FAILURE);
  }
  std::fputs(result.value("out", "").c_str(), stdout);
  std::fputs(result.value("err", "").c_str(), stderr);
  std::fflush(nullptr);
  std::_Exit(result.value("code", EXIT_FAILURE));
}

/// Descriptors of the caller may be pipes or locks for which others would wait as long as this
/// process runs.
void close_all_but(int kept) {
  const auto first = static_cast<unsigned>(STDERR_FILENO) + 1;
  const auto number = static_cast<unsigned>(kept);
  if (number > first) ::close_range(first, number - 1, 0);
  ::close_range(std::max(first, number + 1), ~0U, 0);
}

void detach_standard_streams() {
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::dup2(nothing, stream);
  if (nothing > STDERR_FILENO) ::close(nothing);
}

}  // namespace

int daemonize() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  const pid_t child = ::fork();
  if (child != 0) {
    ::close(ends[1]);
    end_with(child > 0 ? read_to_end(ends[0]) : "");
  }
  close_all_but(ends[1]);
  ::setsid();
  // The current directory could not be unmounted.
  static_cast<void>(::chdir("/") == 0);
  return ends[1];
}

void report_startup(int descriptor, const StartupResult& result) {
  const json message = {{"code", result.exit_code}, {"out", result.out}, {"err", result.err}};
  const std::string text = message.dump(-1, ' ', false, json::error_handler_t::replace);
  detach_standard_streams();
  const char* next = text.data();
  for (std::size_t left = text.size(); left > 0;) {
    const ssize_t written = ::write(descriptor, next, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    next += written;
    left -= static_cast<std::size_t>(written);
  }
  ::close(descriptor);
}

}  // namespace forebay::emufs
