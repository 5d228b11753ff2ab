// SPDX-License-Identifier: Apache-2.0
// Gives any bytes to the decoders of a dataset's owner, of data files' headers and of pieces, and
// holds them to what they promise.
#include <vector>

#include "format/codec.hpp"
#include "format/data_header.hpp"
#include "format/owner.hpp"
#include "tests/fuzz/dataset_target.hpp"

namespace forebay::format {

bool accepts(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto owner = decode_owner(text, "fuzz");
  if (!owner) return false;
  hold(decode_owner(encode_owner(*owner), "again").has_value(), "what is written is read");
  return true;
}

}  // namespace forebay::format

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::format;
  const auto bytes = std::as_bytes(std::span(data, size));
  accepts(bytes);
  if (const auto header = decode_header(bytes, "fuzz"))
    hold(decode_header(encode_header(*header), "again").value() == *header, "headers are read");
  std::vector<std::byte> raw(1000);
  (void)decompress_piece(Codec::kZstd, bytes, raw);
  return 0;
}
