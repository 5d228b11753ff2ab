// SPDX-License-Identifier: Apache-2.0
// Streams over a session: forebay::istream for code that uses a std::istream, and AsyncInputStream,
// its counterpart for coroutines, here with a hundred on one thread.
#include <forebay/forebay.hpp>

#include <array>
#include <coroutine>
#include <exception>
#include <iostream>
#include <span>
#include <string>

#include "input_file.hpp"

namespace {

constexpr long kFirst = 1'000'000;
constexpr long kLines = 100'000;
constexpr std::size_t kLineBytes = 8;  // seven digits and a line feed
constexpr long kTasks = 100;

std::string file_content() {
  std::string content;
  for (long i = 0; i < kLines; ++i)
    content += std::to_string(kFirst + i) + '\n';
  return content;
}

struct Task {  // see coroutines.cpp
  struct promise_type {
    Task get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};

long async_sum = 0;
long tasks_left = kTasks;
Task add_lines(forebay::AsyncInputStream stream) {
  std::array<char, kLineBytes> line{};
  while (co_await stream.read(std::as_writable_bytes(std::span(line))) && !stream.eof())
    async_sum += std::stol(std::string(line.data(), line.size()));
  --tasks_left;
}

}  // namespace

int main() {
  const examples::InputFile input(file_content());
  forebay::Runtime runtime;
  const auto file = runtime.open_file(input.path());
  const auto session = file ? file->read_session() : tl::unexpected(file.error());
  if (!session) return 1;

  long sum = 0;
  forebay::istream stream(*session);
  for (long number = 0; stream >> number;)
    sum += number;
  if (stream.error()) return 1;  // the cause of badbit; empty at the end of the file

  const std::uint64_t part = kLines / kTasks * kLineBytes;
  for (std::uint64_t i = 0; i < kTasks; ++i)
    add_lines(forebay::AsyncInputStream(*session, {i * part, part}));
  while (tasks_left > 0)
    runtime.event_loop().wait();
  std::cout << "sums " << sum << " and " << async_sum << '\n';
  return sum == kLines * kFirst + kLines * (kLines - 1) / 2 && async_sum == sum ? 0 : 1;
}
