// SPDX-License-Identifier: Apache-2.0
// Passes any bytes to the parsers of Cube profiles and checks their contracts. The first byte
// selects the parser. The same function runs under libFuzzer and, with the corpus, in the ordinary
// tests.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "cube/anchor.hpp"
#include "cube/profile.hpp"

namespace forebay::cube {
namespace {

void check(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "broken contract: %s\n", text);
  std::abort();
}

using Bytes = std::span<const std::byte>;

class FuzzedSource : public RandomAccessFile {
 public:
  explicit FuzzedSource(Bytes bytes) : bytes_(bytes) {}
  const std::string& path() const noexcept override { return path_; }
  std::uint64_t size_bytes() const noexcept override { return bytes_.size(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    check(offset <= bytes_.size(), "a read begins inside the file");
    check(into.size() <= bytes_.size() - offset, "a read ends inside the file");
    std::ranges::copy(bytes_.subspan(offset, into.size()), into.begin());
    return {};
  }

 private:
  std::string path_ = "fuzzed";
  Bytes bytes_;
};

void check_error(const Error& error) { check(!error.cause().empty(), "an error has a cause"); }

void try_header(Bytes bytes) {
  if (bytes.size() < kTarBlockBytes) return;
  const auto header = decode_tar_header(bytes.first<kTarBlockBytes>());
  if (!header) return check_error(header.error());
  check(header->size_bytes < 1ULL << 63U, "a size is below 2^63");
  if (header->name.empty() || header->name.size() > kTarNameBytesMax) return;
  const auto again = decode_tar_header(encode_tar_header(header->name, header->size_bytes));
  check(again && again->is_checksum_valid, "an encoded header is valid");
  check(again->size_bytes == header->size_bytes, "encoding keeps a size");
}

void try_index(Bytes bytes) {
  const auto index = decode_index(bytes, 64);
  if (!index) return check_error(index.error());
  for (std::size_t i = 0; i < index->rows.size(); ++i) {
    check(index->rows[i] < 64, "rows are call paths");
    check(i == 0 || index->rows[i] > index->rows[i - 1], "rows ascend");
  }
  const auto again = decode_index(encode_index(*index), 64);
  check(again && *again == *index, "encoding keeps an index");
}

void try_table(Bytes bytes) {
  const RowTableBounds shape{.row_count = 5, .row_bytes = 16, .payload_bytes = 1000};
  const auto rows = decode_row_table(bytes, shape);
  if (!rows) return check_error(rows.error());
  for (std::uint64_t place = 0; place < shape.row_count; ++place) {
    const CompressedRow row = rows->at(place);
    check(row.offset + row.size_bytes <= 1000, "rows are inside the data");
  }
}

void try_type(Bytes bytes) {
  const auto type =
      parse_value_type(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (!type) return check_error(type.error());
  check(parse_value_type(type->name()) == *type, "the name of a type is parsed as this type");
  const std::vector<std::byte> value(type->size_bytes(), std::byte{0xff});
  std::uint64_t size_bytes = 0;
  for (const ScalarRun& run : scalar_runs_of(*type, value))
    size_bytes += run.count * size_of(run.scalar);
  check(size_bytes <= type->size_bytes(), "numbers are inside their value");
}

std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void try_anchor(Bytes bytes) {
  const auto anchor = parse_anchor(text_of(bytes));
  if (!anchor) return check_error(anchor.error());
  check(anchor->call_tree.call_paths_by_row(MetricKind::kInclusive).size() ==
            anchor->call_tree.size(),
        "each call path has a row");
  // The first parse may drop blanks, as XML does; later ones change nothing.
  const auto once = parse_anchor(write_anchor(*anchor));
  check(once.has_value(), "a written anchor can be parsed");
  const std::string text = write_anchor(*once);
  const auto twice = parse_anchor(text);
  check(twice && write_anchor(*twice) == text, "writing keeps an anchor");
  const auto changed = replace_metrics(text, once->metrics);
  check(changed && *changed == text, "the same metrics change nothing");
}

void try_file(Bytes bytes) {
  const auto profile = Profile::open(std::make_shared<FuzzedSource>(bytes));
  if (!profile) return check_error(profile.error());
  RowScratch scratch;
  const Anchor& anchor = profile->anchor();
  for (std::size_t i = 0; i < anchor.metrics.size(); ++i) {
    if (!profile->rows(i)) continue;
    std::vector<std::byte> row(anchor.row_bytes(anchor.metrics[i]));
    for (std::uint32_t number = 0; number < anchor.call_tree.size(); ++number) {
      const Status read = profile->read_row(i, number, row, scratch);
      if (!read) check_error(read.error());
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
