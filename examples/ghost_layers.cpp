// SPDX-License-Identifier: Apache-2.0
// A block of a global array whose memory has ghost layers, written in two ways: one put() for each
// row, or rows packed into a buffer that the library adopts. Prints the time that each takes.
#include <forebay/forebay.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "input_file.hpp"

namespace {

using Field = std::vector<double>;
constexpr std::uint64_t kRows = 1000, kColumns = 1000, kGhosts = 1;  // layers on each side

/// Row `number` without the ghost elements at its ends.
std::span<double> row_of(Field& field, std::uint64_t number) {
  return std::span(field).subspan((number + kGhosts) * (kColumns + 2 * kGhosts) + kGhosts,
                                  kColumns);
}

forebay::Subarray rows(std::uint64_t first, std::uint64_t count) {
  return {.shape = {kRows, kColumns}, .start = {first, 0}, .count = {count, kColumns}};
}

/// Each row is copied, and is a block with its own checksum and index record.
forebay::Status put_rows(forebay::StepWriter& step, Field& field) {
  for (std::uint64_t row = 0; row < kRows; ++row)
    if (auto stored = step.put("rows", rows(row, 1), row_of(field, row)); !stored) return stored;
  return {};
}

/// Each row is copied once, too, into memory that storage is written from: one block.
forebay::Status put_packed(forebay::Runtime& runtime, forebay::StepWriter& step, Field& field) {
  auto buffer = runtime.allocate(kRows * kColumns * sizeof(double));
  if (!buffer) return failure(buffer.error());
  for (std::uint64_t row = 0; row < kRows; ++row)
    std::ranges::copy(row_of(field, row), &buffer->as<double>()[row * kColumns]);
  return step.put<double>("packed", rows(0, kRows), adopt(std::move(*buffer)));
}

double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// In the second of two steps, all memory has been allocated and is in use.
forebay::Status write_both(forebay::Runtime& runtime, const std::string& path) {
  Field field((kRows + 2 * kGhosts) * (kColumns + 2 * kGhosts), -1);
  for (std::uint64_t row = 0; row < kRows; ++row)
    std::ranges::fill(row_of(field, row), static_cast<double>(row));
  auto writer = runtime.create_dataset(path);
  if (!writer) return failure(writer.error());
  for (const std::uint64_t number : {1, 2}) {
    auto step = writer->begin_step(number);
    if (!step) return failure(step.error());
    auto begin = std::chrono::steady_clock::now();
    if (auto stored = put_rows(*step, field); !stored) return stored;
    std::cout << "step " << number << ", rows: " << ms_since(begin) << " ms";
    begin = std::chrono::steady_clock::now();
    if (auto stored = put_packed(runtime, *step, field); !stored) return stored;
    std::cout << ", packed: " << ms_since(begin) << " ms\n";
    if (auto receipt = step->commit().wait(); !receipt) return failure(receipt.error());
  }
  return writer->close();
}

forebay::Status check_both(forebay::Runtime& runtime, const std::string& path) {
  const auto reader = runtime.open_dataset(path);
  if (!reader) return failure(reader.error());
  const auto step = reader->open_step(2);
  if (!step) return failure(step.error());
  for (const char* name : {"rows", "packed"}) {
    Field got(kRows * kColumns);
    if (auto read = step->read(name, rows(0, kRows), got).wait(); !read)
      return failure(read.error());
    if (got.front() != 0 || got[kColumns] != 1 || got.back() != kRows - 1) std::abort();
  }
  return {};
}

}  // namespace

int main() {
  const examples::InputFile directory(examples::numbers(0));  // for its directory, which is removed
  forebay::Runtime runtime;
  const std::string path = directory.path() + ".fb";
  forebay::Status done = write_both(runtime, path);
  if (done) done = check_both(runtime, path);
  if (!done) std::cerr << done.error().message() << '\n';
  return done ? 0 : 1;
}
