// SPDX-License-Identifier: Apache-2.0
#include "tools/run/launcher_socket.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/service_thread.hpp"

namespace forebay::run {

namespace {

constexpr int kQueuedMax = 128;
constexpr std::chrono::seconds kFirstLauncherTimeout{10};
/// After a refusal, such as without a free descriptor: the connection still waits.
constexpr std::chrono::milliseconds kAcceptInterval{100};
/// A launcher that does not read for this time loses its report.
constexpr timeval kSendTimeout{.tv_sec = 5, .tv_usec = 0};

/// False if the peer has another user. Root may connect to all.
bool is_own_user(const Descriptor& connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

void send_line(const Descriptor& connection, const std::string& text) {
  const std::string line = text + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t some =
        ::send(connection.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (some <= 0) return;  // the launcher has ended
    sent += static_cast<std::size_t>(some);
  }
}

}  // namespace

Result<std::unique_ptr<LauncherSocket>> LauncherSocket::listen(const std::string& name,
                                                               std::string greeting,
                                                               std::function<void()> on_end) {
  const auto failed = [&] {
    return failure(system_error({.operation = "listen for launchers of job " + name}, errno));
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof address.sun_path) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "listen for launchers",
                    .cause = "the name of a job has 1 to 106 characters"});
  }
  std::memcpy(&address.sun_path[1], name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener || ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener.get(), kQueuedMax) != 0)
    return failed();
  std::unique_ptr<LauncherSocket> made(
      new LauncherSocket(std::move(listener), std::move(greeting), std::move(on_end)));
  auto thread = start_service_thread("forebay-launch", [raw = made.get()] { raw->run(); });
  if (!thread) return failure(thread.error());
  made->thread_ = std::move(*thread);
  return made;
}

/// Only after has_ended(): the thread waits for launchers otherwise.
LauncherSocket::~LauncherSocket() {
  if (thread_.joinable()) thread_.join();
}

/// False with errno if none waits, or it cannot be accepted now.
bool LauncherSocket::accept_launcher() {
  Descriptor connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return false;
  if (!is_own_user(connection)) return true;
  ::setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof kSendTimeout);
  send_line(connection, greeting_);
  launchers_.push_back(std::move(connection));
  return true;
}

void LauncherSocket::run() {
  bool has_begun = false;
  while (true) {
    if (has_begun && launchers_.empty()) {
      if (!accept_launcher()) break;  // else one has connected meanwhile
      continue;
    }
    std::vector<pollfd> waited = {{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
    for (const Descriptor& launcher : launchers_)
      waited.push_back({.fd = launcher.get(), .events = POLLIN, .revents = 0});
    const std::chrono::milliseconds timeout = kFirstLauncherTimeout;
    const int ready =
        ::poll(waited.data(), waited.size(), has_begun ? -1 : static_cast<int>(timeout.count()));
    if (ready <= 0 && !(ready < 0 && errno == EINTR)) break;
    for (std::size_t i = waited.size() - 1; i > 0; --i) {
      if (waited[i].revents == 0) continue;
      if (last_) send_line(last_, "null");
      last_ = std::move(launchers_[i - 1]);
      launchers_.erase(launchers_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
    if ((waited[0].revents & POLLIN) != 0 && !accept_launcher() && errno != EAGAIN)
      std::this_thread::sleep_for(kAcceptInterval);
    has_begun = has_begun || !launchers_.empty();
  }
  listener_ = {};  // a further launcher starts an agent of its own
  has_ended_.store(true, std::memory_order_release);
  on_end_();
}

void LauncherSocket::send_report(const std::string& report) {
  if (last_) send_line(last_, report);
  last_ = {};
}

}  // namespace forebay::run
