// SPDX-License-Identifier: Apache-2.0
// What a user of the installed library writes first: reads a file through a session, piece by
// piece, and prints its size and the sum of its bytes, so that the test can compare with the truth.
#include <forebay/forebay.hpp>

#include <cstdint>
#include <iostream>

namespace {

int complain(const forebay::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  forebay::Runtime runtime;
  const auto file = runtime.open(argv[1]);
  if (!file) return complain(file.error());
  const auto session = file->read_session();
  if (!session) return complain(session.error());

  std::uint64_t sum = 0;
  const auto status = session->views(session->extent()).for_each([&](const forebay::View& view) {
    for (const std::byte byte : view.bytes())
      sum += std::to_integer<std::uint64_t>(byte);
  });
  if (!status) return complain(status.error());
  std::cout << file->size() << ' ' << sum << '\n';
  return 0;
}
