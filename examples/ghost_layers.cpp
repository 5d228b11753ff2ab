// SPDX-License-Identifier: Apache-2.0
// A block of a global array in memory with ghost layers: written with one put(), and read back into
// such memory on a restart. Neither needs a packed copy.
#include <forebay/forebay.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "input_file.hpp"

namespace {

using Field = std::vector<double>;
constexpr std::uint64_t kRows = 1000, kColumns = 1000, kGhosts = 1;  // layers on each side
constexpr double kGhostValue = -1;

/// The elements that this program owns, in the global array.
const forebay::Subarray kBlock{
    .shape = {kRows, kColumns}, .start = {0, 0}, .count = {kRows, kColumns}};
/// Where they are in memory.
const forebay::MemoryLayout kLayout = forebay::with_ghosts(kBlock.count, kGhosts);

Field make_field() { return Field(forebay::element_count(kLayout.shape), kGhostValue); }

double& at(Field& field, std::uint64_t row, std::uint64_t column) {
  return field[(row + kGhosts) * (kColumns + 2 * kGhosts) + column + kGhosts];
}

forebay::Status write(forebay::Runtime& runtime, const std::string& path) {
  Field field = make_field();
  for (std::uint64_t row = 0; row < kRows; ++row)
    for (std::uint64_t column = 0; column < kColumns; ++column)
      at(field, row, column) = static_cast<double>(row * kColumns + column);
  auto writer = runtime.create_dataset(path);
  if (!writer) return failure(writer.error());
  auto step = writer->begin_step(1);
  if (!step) return failure(step.error());
  if (auto stored = step->put("density", kBlock, field, kLayout); !stored) return stored;
  if (auto receipt = step->commit().wait(); !receipt) return failure(receipt.error());
  return writer->close();
}

forebay::Status restart(forebay::Runtime& runtime, const std::string& path) {
  const auto reader = runtime.open_dataset(path);
  if (!reader) return failure(reader.error());
  const auto step = reader->open_step(1);
  if (!step) return failure(step.error());
  Field field = make_field();
  if (auto read = step->read("density", kBlock, field, kLayout).wait(); !read)
    return failure(read.error());
  const bool is_right = at(field, 0, 1) == 1 && at(field, 1, 0) == kColumns &&
                        at(field, kRows - 1, kColumns - 1) == kRows * kColumns - 1;
  const bool has_ghosts = field.front() == kGhostValue && field.back() == kGhostValue;
  if (!is_right || !has_ghosts) std::abort();
  return {};
}

}  // namespace

int main() {
  const examples::InputFile directory(examples::numbers(0));  // for its directory, which is removed
  forebay::Runtime runtime;
  const std::string path = directory.path() + ".fb";
  forebay::Status done = write(runtime, path);
  if (done) done = restart(runtime, path);
  if (!done) std::cerr << done.error().message() << '\n';
  return done ? 0 : 1;
}
