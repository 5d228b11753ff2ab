// SPDX-License-Identifier: Apache-2.0
// Passes any bytes to the decoder of attributes, which a file or another rank may have damaged.
// What it accepts can be encoded, decoded again and shown.
#include "format/attributes.hpp"
#include "tests/fuzz/dataset_target.hpp"

namespace forebay::format {

bool is_accepted(std::span<const std::byte> bytes) {
  const auto table = AttributeTable::decode(bytes, "fuzz", kPageBytes);
  if (!table) return false;
  const std::vector<std::byte> encoded = table->encode();
  check(encoded.size() == bytes.size(), "an encoded table has the size of the decoded one");
  const auto again = AttributeTable::decode(encoded, "again", kPageBytes);
  check(again.has_value(), "an encoded table can be decoded");
  check(again->encode() == encoded, "a table encodes to the same bytes again");
  for (const auto& [key, value] : table->entries()) {
    check(value.bytes().size() <= kAttributeBytesMax, "a value is within its limit");
    check(value.to_text().size() < 16 * kAttributeBytesMax, "a text for people is short");
    (void)value.number();
    (void)hash_of(value);
  }
  return true;
}

}  // namespace forebay::format

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)forebay::format::is_accepted(std::as_bytes(std::span(data, size)));
  return 0;
}
