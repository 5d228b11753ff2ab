// SPDX-License-Identifier: Apache-2.0
// A first program of a user of the installed library: reads a file through a session, piece by
// piece. It prints the file's size and the sum of its bytes, which the test compares.
#include <forebay/forebay.hpp>

#include <cstdint>
#include <iostream>

namespace {

int print_error(const forebay::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  forebay::Runtime runtime;
  const auto file = runtime.open_file(argv[1]);
  if (!file) return print_error(file.error());
  const auto session = file->read_session();
  if (!session) return print_error(session.error());

  std::uint64_t sum = 0;
  const auto status = session->views(session->extent()).for_each([&](const forebay::View& view) {
    for (const std::byte byte : view.bytes())
      sum += std::to_integer<std::uint64_t>(byte);
  });
  if (!status) return print_error(status.error());
  std::cout << file->size() << ' ' << sum << '\n';
  return 0;
}
