// SPDX-License-Identifier: Apache-2.0
// Passes any bytes to the parsers of Tipsy headers and records and checks their contracts. The same
// function runs under libFuzzer and, with the corpus, in the ordinary tests.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tipsy/record.hpp"
#include "tipsy/record_splitter.hpp"
#include "tipsy/snapshot.hpp"

namespace forebay::tipsy {
namespace {

void check(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "broken contract: %s\n", text);
  std::abort();
}

/// Invariants of every snapshot that identify_snapshot() accepts.
void check_snapshot(const Snapshot& snapshot) {
  check(!snapshot.candidates.empty(), "there is a candidate");
  check(snapshot.counts.total() <= kCountLimit, "counts are within the limit");
  const Result<Layout> layout = snapshot.layout();
  check(layout.has_value() == (snapshot.candidates.size() == 1),
        "one candidate determines the layout");
  if (!layout) return;
  check(layout->end_offset() + snapshot.trailing_bytes == snapshot.file_bytes, "sizes add up");
  const std::uint64_t total = snapshot.counts.total();
  if (total == 0) return;
  const RecordRun last = layout->next_record_run({total - 1, total}, 1);
  check(last.bytes.end() == layout->end_offset(), "the last record ends where the records end");
}

/// Decodes and encodes all records, fed in small pieces.
void read_records(const Layout& layout, std::span<const std::byte> file) {
  RecordSplitter cutter(layout, {0, layout.counts.total()});
  auto rest = file.first(layout.end_offset()).subspan(layout.header_bytes);
  std::uint64_t count = 0;
  while (!rest.empty()) {
    const auto piece = rest.first(std::min<std::size_t>(rest.size(), 97));
    rest = rest.subspan(piece.size());
    cutter.feed(piece, [&](const RecordRun& run, std::span<const std::byte> records) {
      const RecordFormat shape{run.family, layout.precision, layout.order};
      std::vector<Particle> particles(run.count);
      decode_records(shape, records, particles);
      std::vector<std::byte> again(records.size());
      encode_records(shape, particles, again);
      count += run.count;
    });
  }
  check(count == layout.counts.total(), "every record is emitted once");
}

void try_file(std::span<const std::byte> file, std::optional<Precision> word) {
  const auto head = file.first(std::min<std::size_t>(file.size(), kHeaderBytes));
  const Result<Snapshot> snapshot = identify_snapshot({"fuzzed", file.size(), head}, word);
  if (!snapshot) {
    check(!snapshot.error().cause().empty(), "an error has a cause");
    return;
  }
  check_snapshot(*snapshot);
  if (const Result<Layout> layout = snapshot->layout()) read_records(*layout, file);
}

/// The header alone, with every file size it allows: counts up to 2^40 without the bytes.
void try_sizes(std::span<const std::byte> file) {
  if (file.size() < kHeaderBytes) return;
  const auto head = file.first(kHeaderBytes);
  const std::optional<ByteOrder> order = detect_byte_order(head);
  if (!order) return;
  const Header header = decode_header(head, *order);
  check(decode_header(encode_header(header, *order), *order).nbodies == header.nbodies,
        "encoding keeps a header");
  for (const Counts& counts : {plain_counts(header), wide_counts(header)}) {
    for (const Precision precision : kPrecisions) {
      const std::uint64_t size_bytes = kHeaderBytes + records_bytes(counts, precision);
      const Result<Snapshot> snapshot = identify_snapshot({"fuzzed", size_bytes, head}, precision);
      if (snapshot) check_snapshot(*snapshot);
    }
  }
}

}  // namespace
}  // namespace forebay::tipsy

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::tipsy;
  const auto file = std::as_bytes(std::span(data, size));
  try_file(file, std::nullopt);
  for (const Precision precision : kPrecisions)
    try_file(file, precision);
  try_sizes(file);
  return 0;
}
