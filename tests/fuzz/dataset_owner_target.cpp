// SPDX-License-Identifier: Apache-2.0
// Passes any bytes to the decoders of a dataset's owner file, of data file headers and of pieces,
// and checks their contracts.
#include <vector>

#include "format/codec.hpp"
#include "format/data_header.hpp"
#include "format/lease_holder.hpp"
#include "tests/fuzz/dataset_target.hpp"

namespace forebay::format {

bool is_accepted(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto holder = decode_lease_holder(text, "fuzz");
  if (!holder) return false;
  check(decode_lease_holder(encode_lease_holder(*holder), "again").has_value(),
        "an encoded holder can be decoded");
  return true;
}

}  // namespace forebay::format

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::format;
  const auto bytes = std::as_bytes(std::span(data, size));
  is_accepted(bytes);
  if (const auto header = decode_header(bytes, "fuzz"))
    check(decode_header(encode_header(*header), "again").value() == *header,
          "encoding keeps a header");
  std::vector<std::byte> raw(1000);
  (void)decompress_piece(Codec::kZstd, bytes, raw);
  return 0;
}
