// SPDX-License-Identifier: Apache-2.0
// A block of a three-dimensional array as one request, which is a hyperslab in HDF5. The agent
// reads the splinters that hold its rows, adjacent ones together, instead of one small range for
// each row.
#include <forebay/forebay.hpp>

#include <cstdint>
#include <iostream>
#include <vector>

#include "input_file.hpp"

namespace {

// The array in the file: planes of rows of doubles, each equal to its own index, after a header.
constexpr std::uint64_t kHeaderDoubles = 64;
constexpr std::uint64_t kPlanes = 48;
constexpr std::uint64_t kRows = 64;
constexpr std::uint64_t kColumns = 80;

int print_error(const forebay::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

std::vector<double> file_content() {
  std::vector<double> content(kHeaderDoubles, -1);
  for (std::uint64_t i = 0; i < kPlanes * kRows * kColumns; ++i)
    content.push_back(static_cast<double>(i));
  return content;
}

}  // namespace

int main() {
  const examples::InputFile input(file_content());
  forebay::Runtime runtime;
  const auto file = runtime.open_file(input.path());
  if (!file) return print_error(file.error());
  const auto session = file->read_session();
  if (!session) return print_error(session.error());

  // Planes 10 to 25, rows 20 to 35, columns 30 to 45. Without array_offset, the array would begin
  // at the start of the session.
  const forebay::Subarray block{.shape = {kPlanes, kRows, kColumns},
                                .start = {10, 20, 30},
                                .count = {16, 16, 16},
                                .element_bytes = sizeof(double),
                                .array_offset = kHeaderDoubles * sizeof(double)};
  std::vector<double> values(block.count[0] * block.count[1] * block.count[2]);
  const auto got = session->read(block, values).wait();
  if (!got) return print_error(got.error());

  // The block is in memory as in the file: the last index varies fastest, without gaps.
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    const std::uint64_t plane = block.start[0] + i / (block.count[1] * block.count[2]);
    const std::uint64_t row = block.start[1] + i / block.count[2] % block.count[1];
    const std::uint64_t column = block.start[2] + i % block.count[2];
    if (values[i] != static_cast<double>((plane * kRows + row) * kColumns + column)) return 1;
  }
  std::cout << *got << " bytes in " << block.count[0] * block.count[1] << " rows, one request, "
            << session->report().splinters_loaded << " splinters loaded\n";
  return 0;
}
