// SPDX-License-Identifier: Apache-2.0
// The smallest program: open a file, say which part of it will be read, ask for some of that, do
// something else meanwhile, and take it.
#include <forebay/forebay.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

#include "input_file.hpp"

namespace {

using namespace forebay::literals;

int complain(const forebay::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

double compute_something() {
  double sum = 0;
  for (int i = 1; i < 100'000; ++i)
    sum += std::sqrt(i);
  return sum;
}

}  // namespace

int main() {
  const examples::InputFile input(examples::numbers(1U << 20U));  // 8 MiB

  // Owns agents and memory, so it outlives everything that comes from it.
  forebay::Runtime runtime;
  const forebay::Result<forebay::File> file = runtime.open(input.path());
  if (!file) return complain(file.error());

  // What will be read: from here on agents read ahead, before anybody has asked for a byte.
  const forebay::Result<forebay::Session> session =
      file->read_session({.offset = 1_MiB, .size = 4_MiB});
  if (!session) return complain(session.error());

  // A request returns at once. Offsets count from the start of the file, here and everywhere. The
  // memory belongs to the caller and must live until the Future is finished or dropped.
  std::vector<std::uint64_t> block(1000);
  forebay::Future<forebay::ByteCount> request = session->read(2_MiB, std::span(block));

  const double computed = compute_something();

  // All bytes are there now, or there is an Error; a part of them is never a result.
  const forebay::Result<forebay::ByteCount> got = request.wait();
  if (!got) return complain(got.error());

  std::cout << *got << " bytes read, numbers " << block.front() << " to " << block.back() << ", "
            << computed << " computed meanwhile\n";
  const std::uint64_t first = 2_MiB / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (block[i] != first + i) return 1;
  }
  return *got == block.size() * sizeof(std::uint64_t) ? 0 : 1;
}
