// SPDX-License-Identifier: Apache-2.0
// Gives any bytes to the parsers of Cube profiles and holds them to what they promise. The first
// byte says to which. The same function runs under libFuzzer and, over the corpus, in the ordinary
// tests.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "cube/anchor.hpp"
#include "cube/profile.hpp"

namespace forebay::cube {
namespace {

void hold(bool promise, const char* text) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", text);
  std::abort();
}

using Bytes = std::span<const std::byte>;

class FuzzedSource : public ByteSource {
 public:
  explicit FuzzedSource(Bytes bytes) : bytes_(bytes) {}
  const std::string& path() const noexcept override { return path_; }
  std::uint64_t size_bytes() const noexcept override { return bytes_.size(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    hold(offset <= bytes_.size(), "reads begin in the file");
    hold(into.size() <= bytes_.size() - offset, "reads end in the file");
    std::ranges::copy(bytes_.subspan(offset, into.size()), into.begin());
    return {};
  }

 private:
  std::string path_ = "fuzzed";
  Bytes bytes_;
};

void hold_error(const Error& error) { hold(!error.cause().empty(), "a refusal has a reason"); }

void try_header(Bytes bytes) {
  if (bytes.size() < kTarBlockBytes) return;
  const auto header = decode_tar_header(bytes.first<kTarBlockBytes>());
  if (!header) return hold_error(header.error());
  hold(header->size_bytes < 1ULL << 63U, "a size is one of a file");
  if (header->name.empty() || header->name.size() > kTarNameBytesMax) return;
  const auto again = decode_tar_header(encode_tar_header(header->name, header->size_bytes));
  hold(again && again->checksum_is_right, "a header that is written is right");
  hold(again->size_bytes == header->size_bytes, "a size survives being written");
}

void try_index(Bytes bytes) {
  const auto index = decode_index(bytes, 64);
  if (!index) return hold_error(index.error());
  for (std::size_t i = 0; i < index->rows.size(); ++i) {
    hold(index->rows[i] < 64, "rows are call paths");
    hold(i == 0 || index->rows[i] > index->rows[i - 1], "rows rise");
  }
  const auto again = decode_index(encode_index(*index), 64);
  hold(again && *again == *index, "an index survives being written");
}

void try_table(Bytes bytes) {
  const PackedShape shape{.row_count = 5, .row_bytes = 16, .payload_bytes = 1000};
  const auto rows = decode_packed_rows(bytes, shape);
  if (!rows) return hold_error(rows.error());
  for (std::uint64_t place = 0; place < shape.row_count; ++place) {
    const PackedRow row = rows->at(place);
    hold(row.offset + row.size_bytes <= 1000, "rows are in the data");
  }
}

void try_type(Bytes bytes) {
  const auto type =
      parse_value_type(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (!type) return hold_error(type.error());
  hold(parse_value_type(type->name()) == *type, "a type survives being written");
  const std::vector<std::byte> value(type->size_bytes(), std::byte{0xff});
  std::uint64_t size_bytes = 0;
  for (const ScalarRun& run : numbers_of(*type, value))
    size_bytes += run.count * size_of(run.scalar);
  hold(size_bytes <= type->size_bytes(), "numbers are in their value");
}

std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void try_anchor(Bytes bytes) {
  const auto anchor = parse_anchor(text_of(bytes));
  if (!anchor) return hold_error(anchor.error());
  hold(anchor->call_tree.places_by_row(MetricKind::kInclusive).size() == anchor->call_tree.size(),
       "each call path has a row");
  // What is read first may have blanks that XML drops; from then on nothing changes.
  const auto once = parse_anchor(write_anchor(*anchor));
  hold(once.has_value(), "a description that is written is read");
  const std::string text = write_anchor(*once);
  const auto twice = parse_anchor(text);
  hold(twice && write_anchor(*twice) == text, "a description survives being written");
  const auto changed = with_metrics(text, once->metrics);
  hold(changed && *changed == text, "the same metrics change nothing");
}

void try_file(Bytes bytes) {
  const auto profile = Profile::open(std::make_shared<FuzzedSource>(bytes));
  if (!profile) return hold_error(profile.error());
  RowScratch scratch;
  const Anchor& anchor = profile->anchor();
  for (std::size_t i = 0; i < anchor.metrics.size(); ++i) {
    if (!profile->rows(i)) continue;
    std::vector<std::byte> row(anchor.row_bytes(anchor.metrics[i]));
    for (std::uint32_t number = 0; number < anchor.call_tree.size(); ++number) {
      const Status read = profile->read_row(i, number, row, scratch);
      if (!read) hold_error(read.error());
    }
  }
}

}  // namespace
}  // namespace forebay::cube

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::cube;
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  switch (data[0]) {
    case 't':
      try_header(bytes);
      break;
    case 'i':
      try_index(bytes);
      break;
    case 'r':
      try_table(bytes);
      break;
    case 'v':
      try_type(bytes);
      break;
    case 'a':
      try_anchor(bytes);
      break;
    default:
      try_file(bytes);
  }
  return 0;
}
