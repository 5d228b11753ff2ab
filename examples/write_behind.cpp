// SPDX-License-Identifier: Apache-2.0
// Writing behind a computation: while one buffer is computed, agents write the previous one. The
// file gets its name when it is complete, and the report shows the gain of overlap.
#include <forebay/forebay.hpp>

#include <cstdint>
#include <cstring>
#include <iostream>
#include <span>

#include "input_file.hpp"

namespace {

using namespace forebay::literals;

constexpr std::uint64_t kBufferBytes = 1_MiB;
constexpr std::uint64_t kBuffers = 16;
constexpr std::uint64_t kBytes = kBufferBytes * kBuffers;

/// Fills a buffer with the numbers 0, 1, 2, ... that belong at this offset.
void compute(std::span<std::byte> into, std::uint64_t offset) {
  std::uint64_t number = offset / sizeof(std::uint64_t);
  for (std::size_t at = 0; at < into.size(); at += sizeof number, ++number)
    std::memcpy(into.data() + at, &number, sizeof number);
}

forebay::Status write_numbers(forebay::OutputStream& out, const forebay::OutputFile& file) {
  for (std::uint64_t offset = 0; offset < kBytes; offset += kBufferBytes) {
    auto buffer = out.acquire();  // blocks while both are being written: memory never grows
    if (!buffer) return failure(buffer.error());
    compute(buffer->bytes(), offset);
    if (const auto taken = out.submit(std::move(*buffer), file, offset); !taken) return taken;
  }
  return file.publish();  // waits, makes the file durable, and gives it its name
}

}  // namespace

int main() {
  const examples::InputFile directory(examples::numbers(0));  // for the directory, which is removed
  const std::string path = directory.path() + ".result";
  forebay::Runtime runtime;
  auto out = runtime.create_output_stream({.buffer_bytes = kBufferBytes, .buffers = 2});
  if (!out) return 1;
  const auto file = out->create(
      path, {.expected_bytes = kBytes, .visibility = forebay::FileVisibility::kOnPublish});
  if (!file) return 1;
  if (const auto done = write_numbers(*out, *file); !done) {
    std::cerr << done.error().message() << '\n';  // the first error of the stream, with its path
                                                  // and offset
    return 1;
  }
  const forebay::StreamReport report = out->report();
  std::cout << report.bytes << " bytes in " << report.requests << " requests, "
            << file->plan().reason << "\ncomputing took " << report.compute_s << " s a buffer and "
            << "writing " << report.write_s << " s; efficiency " << report.efficiency << '\n';

  const auto result = runtime.open_file(path);
  std::vector<std::byte> bytes(kBytes);
  if (!result || !result->read_session()->read(0, bytes).wait()) return 1;
  constexpr std::uint64_t kNumbers = kBytes / sizeof(std::uint64_t);
  return examples::sum_of(bytes) == kNumbers * (kNumbers - 1) / 2 ? 0 : 1;
}
