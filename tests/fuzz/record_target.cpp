// SPDX-License-Identifier: Apache-2.0
// Gives any bytes to the decoder of recordings and holds it to what it promises. The same function
// runs under libFuzzer and, over the corpus, in the ordinary tests.
#include <cstdio>
#include <cstdlib>

#include "tools/emufs/record.hpp"

namespace forebay::emufs {
namespace {

void hold(bool promise, const char* text) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", text);
  std::abort();
}

void hold_record(const Decoded& decoded, std::string_view text) {
  hold(decoded.bytes > 0, "a record takes bytes");
  hold(decoded.bytes <= text.size(), "a record takes no more bytes than there are");
  hold(!name_of(decoded.record.kind).empty(), "a record is of a kind");
  const Decoded again = decode(encode(decoded.record, decoded.number));
  hold(again.damage == Damage::kNone, "a record that was written is read");
  hold(again.record == decoded.record, "a record survives being written");
}

}  // namespace
}  // namespace forebay::emufs

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::emufs;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Decoded decoded = decode(text);
  if (decoded.damage == Damage::kNone) {
    hold_record(decoded, text);
  } else {
    hold(decoded.bytes == 0, "damage takes no bytes");
  }
  return 0;
}
