// SPDX-License-Identifier: Apache-2.0
// Reads a file of words as a stream of records, like programs without Forebay.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>

#include "bench/frame/clock.hpp"

namespace forebay::bench {

/// The fastest read of a record that the type of the stream has.
template <class Stream>
bool read_record(Stream& stream, std::span<char> into) {
  if constexpr (requires { stream.read_exact(into); })
    return stream.read_exact(into);
  else
    return static_cast<bool>(stream.read(into.data(), static_cast<std::streamsize>(into.size())));
}

/// Reads a stream of records to its end; fails unless every record is in its place. A template, so
/// that each stream is called by its type, with little other work.
template <std::size_t kRecordBytes, class Stream>
Status read_records(Stream& stream, std::uint64_t file_bytes) {
  std::array<std::uint64_t, kRecordBytes / sizeof(std::uint64_t)> record{};
  std::uint64_t at = 0;
  std::uint64_t difference = 0;
  const std::span bytes(reinterpret_cast<char*>(record.data()), kRecordBytes);
  while (read_record(stream, bytes)) {
    difference |= record[0] ^ at;
    at += kRecordBytes;
  }
  if (at == file_bytes && difference == 0) return {};
  return failure({.kind = ErrorClass::kDamage, .operation = "read records", .offset_bytes = at});
}

/// Seconds to open a file as a std::ifstream and read it with read_records().
template <std::size_t kRecordBytes>
Result<double> time_ifstream(const std::filesystem::path& path, std::uint64_t file_bytes) {
  const Stopwatch watch;
  std::ifstream stream(path, std::ios::binary);
  if (auto done = read_records<kRecordBytes>(stream, file_bytes); !done)
    return failure(done.error());
  return watch.seconds();
}

}  // namespace forebay::bench
