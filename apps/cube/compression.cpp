// SPDX-License-Identifier: Apache-2.0
#include "cube/compression.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <zlib.h>

namespace forebay::cube {

namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window, with a gzip header
constexpr std::size_t kStepBytes = 1U << 20U;

const Bytef* input_bytes(std::span<const std::byte> bytes) {
  return reinterpret_cast<const Bytef*>(bytes.data());
}

Error zlib_error(ErrorClass kind, std::string cause) {
  return Error({.kind = kind, .operation = "unpack", .cause = std::move(cause)});
}

/// Ends a zlib stream in every case.
struct InflateEnd {
  void operator()(z_stream* stream) const { ::inflateEnd(stream); }
};

/// Decompresses `stream` in steps of bounded memory.
Result<std::string> inflate_all(z_stream& stream, std::uint64_t limit_bytes) {
  std::string text;
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    const std::size_t done = text.size();
    if (done > limit_bytes) {
      return failure(
          zlib_error(ErrorClass::kLimit, fmt::format("more than {} bytes", limit_bytes)));
    }
    text.resize(done + kStepBytes);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + done);
    stream.avail_out = kStepBytes;
    result = ::inflate(&stream, Z_NO_FLUSH);
    text.resize(text.size() - stream.avail_out);
    if (result != Z_OK && result != Z_STREAM_END) {
      return failure(zlib_error(ErrorClass::kDamage, "the gzip stream is broken or ends early"));
    }
  }
  return text;
}

}  // namespace

Status deflate_row(std::span<const std::byte> row, int level, std::vector<std::byte>& compressed) {
  compressed.resize(::compressBound(row.size()));
  uLongf size_bytes = compressed.size();
  const int result = ::compress2(reinterpret_cast<Bytef*>(compressed.data()), &size_bytes,
                                 input_bytes(row), row.size(), level);
  if (result != Z_OK) {
    return failure(zlib_error(ErrorClass::kLimit, "no memory to compress a row"));
  }
  compressed.resize(size_bytes);
  return {};
}

Status inflate_row(std::span<const std::byte> compressed, std::span<std::byte> row) {
  uLongf size_bytes = row.size();
  const int result = ::uncompress(reinterpret_cast<Bytef*>(row.data()), &size_bytes,
                                  input_bytes(compressed), compressed.size());
  if (result == Z_MEM_ERROR) {
    return failure(zlib_error(ErrorClass::kLimit, "no memory to decompress a row"));
  }
  if (result == Z_BUF_ERROR) {
    return failure(zlib_error(
        ErrorClass::kDamage,
        fmt::format("the zlib stream is incomplete, or holds more than {} bytes", row.size())));
  }
  if (result != Z_OK) {
    return failure(zlib_error(ErrorClass::kDamage, "the zlib stream is broken"));
  }
  if (size_bytes == row.size()) return {};
  return failure(zlib_error(
      ErrorClass::kDamage,
      fmt::format("the zlib stream holds {} bytes instead of {}", size_bytes, row.size())));
}

Result<std::string> inflate_gzip(std::span<const std::byte> compressed, std::uint64_t limit_bytes) {
  z_stream stream{};
  if (compressed.size() > std::numeric_limits<uInt>::max()) {
    return failure(zlib_error(ErrorClass::kLimit, "the gzip stream is longer than 4 GiB"));
  }
  // zlib's interface takes a non-const pointer but does not write through it.
  stream.next_in = const_cast<Bytef*>(input_bytes(compressed));
  stream.avail_in = static_cast<uInt>(compressed.size());
  if (::inflateInit2(&stream, kGzipWindow) != Z_OK) {
    return failure(zlib_error(ErrorClass::kLimit, "no memory to decompress"));
  }
  const std::unique_ptr<z_stream, InflateEnd> end(&stream);
  return inflate_all(stream, limit_bytes);
}

}  // namespace forebay::cube
