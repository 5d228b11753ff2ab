// SPDX-License-Identifier: Apache-2.0
// Requests in a loop that is not ours: each Future has a descriptor that poll(2), epoll, libuv or
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
constexpr int kPatienceMs = 30'000;

int complain(const forebay::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

}  // namespace

int main() {
  constexpr std::uint64_t kCount = kRequests * kRequestBytes / sizeof(std::uint64_t);
  const examples::InputFile input(examples::numbers(kCount));
  forebay::Runtime runtime;
  const auto file = runtime.open(input.path());
  if (!file) return complain(file.error());
  const auto session = file->read_session();
  if (!session) return complain(session.error());

  std::vector<forebay::Future<forebay::View>> requests;
  std::vector<pollfd> watched;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    requests.push_back(session->view({.offset = i * kRequestBytes, .size = kRequestBytes}));
    const forebay::Result<int> descriptor = requests.back().event_fd();
    if (!descriptor) return complain(descriptor.error());
    watched.push_back({.fd = *descriptor, .events = POLLIN, .revents = 0});
  }

  std::uint64_t sum = 0;
  std::uint64_t wake_ups = 0;
  for (std::uint64_t left = kRequests; left > 0; ++wake_ups) {
    if (::poll(watched.data(), watched.size(), kPatienceMs) <= 0) return 1;
    for (std::size_t i = 0; i < watched.size(); ++i) {
      // Readable means "look again": poll() takes what has come and arms the descriptor anew.
      if ((watched[i].revents & POLLIN) == 0 || !requests[i].poll()) continue;
      const forebay::Result<forebay::View> view = requests[i].wait();  // it is there
      if (!view) return complain(view.error());
      sum += examples::sum_of(view->bytes());
      watched[i].fd = -1;  // poll(2) leaves such entries alone
      --left;
    }
  }
  std::cout << kRequests << " requests after " << wake_ups << " wake-ups, sum " << sum << '\n';
  return sum == kCount * (kCount - 1) / 2 ? 0 : 1;
}
