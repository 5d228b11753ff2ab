// SPDX-License-Identifier: Apache-2.0
// Requests in a foreign event loop: each Future has a descriptor that poll(2), epoll, libuv or
// asyncio can watch beside sockets and timers.
#include <forebay/forebay.hpp>

#include <cstdint>
#include <iostream>
#include <vector>

#include <poll.h>

#include "input_file.hpp"

namespace {

using namespace forebay::literals;

constexpr std::uint64_t kRequests = 16;
constexpr std::uint64_t kRequestBytes = 256_KiB;
constexpr int kTimeoutMs = 30'000;

int print_error(const forebay::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

}  // namespace

int main() {
  constexpr std::uint64_t kCount = kRequests * kRequestBytes / sizeof(std::uint64_t);
  const examples::InputFile input(examples::numbers(kCount));
  forebay::Runtime runtime;
  const auto file = runtime.open_file(input.path());
  if (!file) return print_error(file.error());
  const auto session = file->read_session();
  if (!session) return print_error(session.error());

  std::vector<forebay::Future<forebay::View>> requests;
  std::vector<pollfd> watched;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    requests.push_back(session->view({.offset = i * kRequestBytes, .size = kRequestBytes}));
    const forebay::Result<int> descriptor = requests.back().event_fd();
    if (!descriptor) return print_error(descriptor.error());
    watched.push_back({.fd = *descriptor, .events = POLLIN, .revents = 0});
  }

  std::uint64_t sum = 0;
  std::uint64_t wake_ups = 0;
  for (std::uint64_t left = kRequests; left > 0; ++wake_ups) {
    if (::poll(watched.data(), watched.size(), kTimeoutMs) <= 0) return 1;
    for (std::size_t i = 0; i < watched.size(); ++i) {
      // A readable descriptor means that poll() may make progress: it takes what has arrived and
      // arms the descriptor again.
      if ((watched[i].revents & POLLIN) == 0 || !requests[i].poll()) continue;
      const forebay::Result<forebay::View> view = requests[i].wait();  // returns at once
      if (!view) return print_error(view.error());
      sum += examples::sum_of(view->bytes());
      watched[i].fd = -1;  // poll(2) ignores such entries
      --left;
    }
  }
  std::cout << kRequests << " requests after " << wake_ups << " wake-ups, sum " << sum << '\n';
  return sum == kCount * (kCount - 1) / 2 ? 0 : 1;
}
