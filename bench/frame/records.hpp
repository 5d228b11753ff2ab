// SPDX-License-Identifier: Apache-2.0
// Reading a file of words as a stream, in records, as programs do that know nothing of Forebay.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "bench/frame/clock.hpp"

namespace forebay::bench {

/// Reads a stream in records to its end; fails unless every record is in its place. One template
/// for all, so that each is called by its own type, and as little as possible happens besides.
template <std::size_t kRecordBytes, class Stream>
Status read_records(Stream& stream, std::uint64_t file_bytes) {
  std::array<std::uint64_t, kRecordBytes / sizeof(std::uint64_t)> record{};
  std::uint64_t at = 0;
  std::uint64_t difference = 0;
  while (stream.read(reinterpret_cast<char*>(record.data()), kRecordBytes)) {
    difference |= record[0] ^ at;
    at += kRecordBytes;
  }
  if (at == file_bytes && difference == 0) return {};
  return failure({.kind = ErrorClass::kDamage, .operation = "read records", .offset_bytes = at});
}

/// Seconds to open a file as a std::ifstream and read it so.
template <std::size_t kRecordBytes>
Result<double> time_ifstream(const std::filesystem::path& path, std::uint64_t file_bytes) {
  const Stopwatch watch;
  std::ifstream stream(path, std::ios::binary);
  if (auto done = read_records<kRecordBytes>(stream, file_bytes); !done)
    return failure(done.error());
  return watch.seconds();
}

}  // namespace forebay::bench
