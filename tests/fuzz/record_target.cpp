// SPDX-License-Identifier: Apache-2.0
// Passes any bytes to the decoder of recordings and checks its contract. The same function runs
// under libFuzzer and, with the corpus, in the ordinary tests.
#include <cstdio>
#include <cstdlib>

#include "tools/emufs/record.hpp"

namespace forebay::emufs {
namespace {

void check(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "broken contract: %s\n", text);
  std::abort();
}

void check_record(const Decoded& decoded, std::string_view text) {
  check(decoded.bytes > 0, "a record has bytes");
  check(decoded.bytes <= text.size(), "a record ends inside the input");
  check(!name_of(decoded.record.kind).empty(), "a record has a known kind");
  const Decoded again = decode(encode(decoded.record, decoded.number));
  check(again.status == DecodeStatus::kOk, "an encoded record can be decoded");
  check(again.record == decoded.record, "encoding keeps a record");
}

}  // namespace
}  // namespace forebay::emufs

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::emufs;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Decoded decoded = decode(text);
  if (decoded.status == DecodeStatus::kOk) {
    check_record(decoded, text);
  } else {
    check(decoded.bytes == 0, "damage consumes no bytes");
  }
  return 0;
}
