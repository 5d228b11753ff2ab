// SPDX-License-Identifier: Apache-2.0
// Gives any bytes to the parsers of Tipsy headers and records and holds them to what they promise.
// The same function runs under libFuzzer and, over the corpus, in the ordinary tests.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tipsy/record.hpp"
#include "tipsy/record_cutter.hpp"
#include "tipsy/snapshot.hpp"

namespace forebay::tipsy {
namespace {

void hold(bool promise, const char* text) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", text);
  std::abort();
}

/// What must be true of everything that recognise() accepts.
void hold_snapshot(const Snapshot& snapshot) {
  hold(!snapshot.candidates.empty(), "there is a candidate");
  hold(snapshot.counts.total() <= kCountLimit, "counts are within the limit");
  const Result<Layout> layout = snapshot.layout();
  hold(layout.has_value() == (snapshot.candidates.size() == 1), "one candidate is an answer");
  if (!layout) return;
  hold(layout->end_bytes() + snapshot.trailing_bytes == snapshot.file_bytes, "sizes add up");
  const std::uint64_t total = snapshot.counts.total();
  if (total == 0) return;
  const RecordRun last = layout->next_run({total - 1, total}, 1);
  hold(last.bytes.end() == layout->end_bytes(), "the last record ends where the records end");
}

/// Decodes and codes all records, fed in small pieces.
void read_records(const Layout& layout, std::span<const std::byte> file) {
  RecordCutter cutter(layout, {0, layout.counts.total()});
  auto rest = file.first(layout.end_bytes()).subspan(layout.header_bytes);
  std::uint64_t count = 0;
  while (!rest.empty()) {
    const auto piece = rest.first(std::min<std::size_t>(rest.size(), 97));
    rest = rest.subspan(piece.size());
    cutter.feed(piece, [&](const RecordRun& run, std::span<const std::byte> records) {
      const RecordShape shape{run.family, layout.precision, layout.order};
      std::vector<Particle> particles(run.count);
      decode_records(shape, records, particles);
      std::vector<std::byte> again(records.size());
      encode_records(shape, particles, again);
      count += run.count;
    });
  }
  hold(count == layout.counts.total(), "every record is handed on once");
}

void try_file(std::span<const std::byte> file, std::optional<Precision> word) {
  const auto head = file.first(std::min<std::size_t>(file.size(), kHeaderBytes));
  const Result<Snapshot> snapshot = recognise({"fuzzed", file.size(), head}, word);
  if (!snapshot) {
    hold(!snapshot.error().cause().empty(), "a refusal has a reason");
    return;
  }
  hold_snapshot(*snapshot);
  if (const Result<Layout> layout = snapshot->layout()) read_records(*layout, file);
}

/// The header alone, in files of every size it could mean: counts up to 2^40 without the bytes.
void try_sizes(std::span<const std::byte> file) {
  if (file.size() < kHeaderBytes) return;
  const auto head = file.first(kHeaderBytes);
  const std::optional<ByteOrder> order = byte_order_of(head);
  if (!order) return;
  const Header header = decode_header(head, *order);
  hold(decode_header(encode_header(header, *order), *order).nbodies == header.nbodies,
       "a header survives coding");
  for (const Counts& counts : {plain_counts(header), wide_counts(header)}) {
    for (const Precision precision : kPrecisions) {
      const std::uint64_t size_bytes = kHeaderBytes + records_bytes(counts, precision);
      const Result<Snapshot> snapshot = recognise({"fuzzed", size_bytes, head}, precision);
      if (snapshot) hold_snapshot(*snapshot);
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
