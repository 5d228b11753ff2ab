// SPDX-License-Identifier: Apache-2.0
// Passes any bytes to the reader of traces and checks its contracts. A second run has valid
// checksums. The same function runs under libFuzzer and, with the corpus, in the ordinary tests.
#include "tests/fuzz/trace_target.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "storage/memory_file.hpp"
#include "trace/trace_reader.hpp"
#include "trace/trace_writer.hpp"

namespace forebay::trace {
namespace {

using OnDamage = TraceReader::OnDamage;
using Bytes = std::vector<std::byte>;

void check(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "broken contract: %s\n", text);
  std::abort();
}

std::shared_ptr<storage::File> file_of(std::span<const std::byte> bytes) {
  return std::make_shared<storage::MemoryFile>("fuzz", Bytes(bytes.begin(), bytes.end()));
}

/// A trace of the same blocks can be written.
void write_again(TraceWriter& writer, const TraceBlock& block) {
  if (const auto* source = std::get_if<SourceBlock>(&block)) {
    check(writer.add_source(source->info).value() == source->number, "sources have no gaps");
  } else if (const auto* file = std::get_if<FileBlock>(&block)) {
    check(writer.add_file(file->info).value() == file->number, "files have no gaps");
  } else {
    const auto& [number, lost, records] = std::get<RecordsBlock>(block);
    check(records.size() <= kBlockRecordsMax, "a block is at most 1 MiB");
    check(writer.append(number, records, lost).has_value(), "records are within the limits");
  }
}

/// Recovery ends, and returns at least the blocks before the first damage.
void recover(std::span<const std::byte> bytes, std::size_t block_count) {
  auto reader = TraceReader::open(file_of(bytes), OnDamage::kRecover).value();
  std::size_t count = 0;
  while (reader.next().value())
    ++count;
  check(count >= block_count, "recovery keeps the blocks before damage");
  check(reader.skipped_bytes() <= bytes.size(), "recovery skips bytes of the file");
}

/// Valid checksums of the header and of all blocks as far as their sizes are valid.
Bytes with_checksums(std::span<const std::byte> bytes) {
  const TraceHeader start = make_trace_header(0);
  const auto start_bytes = std::as_bytes(std::span(&start, 1));
  Bytes fixed(start_bytes.begin(), start_bytes.end());
  BlockHeader header;
  while (bytes.size() >= sizeof header) {
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::size_t stored_bytes =
        std::min<std::size_t>(header.stored_bytes, bytes.size() - sizeof header);
    const auto stored = bytes.subspan(sizeof header, stored_bytes);
    header.stored_bytes = static_cast<std::uint32_t>(stored_bytes);
    set_checksums(header, stored);
    const auto header_bytes = std::as_bytes(std::span(&header, 1));
    fixed.insert(fixed.end(), header_bytes.begin(), header_bytes.end());
    fixed.insert(fixed.end(), stored.begin(), stored.end());
    bytes = bytes.subspan(sizeof header + stored_bytes);
  }
  return fixed;
}

}  // namespace

std::string_view result_of(std::span<const std::byte> bytes) {
  auto reader = TraceReader::open(file_of(bytes));
  if (!reader) return "broken";
  auto copy = TraceWriter::create(std::make_unique<storage::MemoryFile>("copy", Bytes()), 1);
  std::size_t count = 0;
  auto block = reader->next();
  for (; block && *block; block = reader->next()) {
    write_again(*copy, **block);
    ++count;
  }
  recover(bytes, count);
  if (block) return reader->warnings().empty() ? "ok" : "ends";
  check(block.error().kind() == ErrorClass::kDamage, "an error is damage");
  check(block.error().offset_bytes().value_or(UINT64_MAX) < bytes.size(),
        "damage is inside the file");
  return "broken";
}

}  // namespace forebay::trace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::trace;
  const auto bytes = std::as_bytes(std::span(data, size));
  result_of(bytes);
  if (size > sizeof(TraceHeader)) result_of(with_checksums(bytes.subspan(sizeof(TraceHeader))));
  return 0;
}
