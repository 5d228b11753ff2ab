// SPDX-License-Identifier: Apache-2.0
// The smallest program: open a file, declare the part to read, request some of it, compute
// meanwhile, and take the bytes.
#include <forebay/forebay.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>

#include "input_file.hpp"

namespace {

using namespace forebay::literals;

int print_error(const forebay::Error& error) {
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

  // Owns agents and memory, so it outlives all objects that it creates.
  forebay::Runtime runtime;
  const forebay::Result<forebay::File> file = runtime.open_file(input.path());
  if (!file) return print_error(file.error());

  // Declares the part to read: agents read ahead from here on, before the first request.
  const forebay::Result<forebay::Session> session =
      file->read_session({.offset = 1_MiB, .size = 4_MiB});
  if (!session) return print_error(session.error());

  // A request returns at once. Offsets always count from the start of the file. The memory belongs
  // to the caller and must live until the Future is finished or dropped.
  std::vector<std::uint64_t> block(1000);
  forebay::Future<forebay::ByteCount> request = session->read(2_MiB, block);

  const double computed = compute_something();

  // All bytes or an Error; a result is never partial.
  const forebay::Result<forebay::ByteCount> got = request.wait();
  if (!got) return print_error(got.error());

  std::cout << *got << " bytes read, numbers " << block.front() << " to " << block.back() << ", "
            << computed << " computed meanwhile\n";
  const std::uint64_t first = 2_MiB / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (block[i] != first + i) return 1;
  }
  return *got == block.size() * sizeof(std::uint64_t) ? 0 : 1;
}
