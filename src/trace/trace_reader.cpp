// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_reader.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace forebay::trace {
namespace {

/// Bytes that the search for a header reads at a time.
constexpr std::size_t kSearchBytes = std::size_t{64} << 10U;
/// All kinds of blocks begin with these letters.
constexpr std::string_view kKindLetters = "Fby";
constexpr const char* kIncomplete =
    "the file ends inside this block; the trace is complete up to here";

}  // namespace

Result<TraceReader> TraceReader::open(std::shared_ptr<storage::File> file, OnDamage on_damage) {
  std::array<std::byte, sizeof(TraceHeader)> bytes{};
  const auto got = file->read_at(bytes, 0);
  if (!got) return failure(got.error());
  const auto header = decode_trace_header(std::span(bytes).first(*got), file->path());
  if (!header) return failure(header.error());
  TraceReader reader(std::move(file), on_damage);
  reader.start_ns_ = header->start_ns;
  return reader;
}

Result<std::optional<TraceBlock>> TraceReader::next() {
  while (!is_at_end_) {
    auto block = read_block();
    if (block) return block;
    if (block.error().kind() != ErrorClass::kDamage || on_damage_ == OnDamage::kFail) return block;
    if (const Status skipped = skip_damage(block.error()); !skipped)
      return failure(skipped.error());
  }
  return std::optional<TraceBlock>();
}

Result<std::optional<TraceBlock>> TraceReader::read_block() {
  const auto no_block = [](bool) { return std::optional<TraceBlock>(); };
  block_end_ = 0;
  std::array<std::byte, sizeof(BlockHeader)> bytes{};
  Result<bool> is_complete = fill(bytes, position_);
  if (!is_complete.value_or(false)) return is_complete.map(no_block);
  const auto header = decode_block_header(bytes, place());
  if (!header) return failure(header.error());
  stored_.resize(header->stored_bytes);
  is_complete = fill(stored_, position_ + bytes.size());
  if (!is_complete.value_or(false)) return is_complete.map(no_block);
  block_end_ = position_ + bytes.size() + stored_.size();
  auto block = decode_block(*header);
  if (!block) return failure(block.error());
  position_ = block_end_;
  return std::optional<TraceBlock>(std::move(*block));
}

/// Reads a part of the block at position_. False, with a warning, if the file ends inside it.
Result<bool> TraceReader::fill(std::span<std::byte> into, std::uint64_t offset) {
  const auto got = file_->read_at(into, offset);
  if (!got) return failure(got.error());
  if (*got == into.size()) return true;
  is_at_end_ = true;
  const std::uint64_t incomplete_bytes = offset - position_ + *got;
  skipped_bytes_ += incomplete_bytes;
  if (incomplete_bytes != 0) warn(place().error(ErrorClass::kShortFile, kIncomplete).value());
  return false;
}

Result<TraceBlock> TraceReader::decode_block(const BlockHeader& header) {
  if (const Status checked = check_payload(header, stored_, place()); !checked)
    return failure(checked.error());
  if (const Status checked = check_numbers(header); !checked) return failure(checked.error());
  if (header.kind == BlockKind::kSource) {
    auto source = decode_source(stored_, place());
    if (!source) return failure(source.error());
    source_count_ = header.source + 1;
    return SourceBlock{header.source, std::move(*source)};
  }
  if (header.kind == BlockKind::kFile) {
    auto file = decode_file(stored_, place());
    if (!file) return failure(file.error());
    file_count_ = header.file_or_lost + 1;
    return FileBlock{static_cast<std::uint16_t>(header.file_or_lost), std::move(*file)};
  }
  records_.resize(header.records);
  const Status decoded = decode_records(stored_, raw_, records_, place());
  if (!decoded) return failure(decoded.error());
  if (const Status checked = check_files(records_); !checked) return failure(checked.error());
  return RecordsBlock{header.source, header.file_or_lost, records_};
}

Status TraceReader::check_numbers(const BlockHeader& header) const {
  const bool is_strict = on_damage_ == OnDamage::kFail;
  if (header.kind == BlockKind::kRecords) {
    if (!is_strict || header.source < source_count_) return {};
    return place().damage("source " + std::to_string(header.source) + " has no block");
  }
  const bool is_source = header.kind == BlockKind::kSource;
  const std::uint32_t number = is_source ? header.source : header.file_or_lost;
  const std::uint32_t expected = is_source ? source_count_ : file_count_;
  if (number == expected || (!is_strict && number > expected)) return {};
  return place().damage("it has number " + std::to_string(number) + " instead of " +
                        std::to_string(expected));
}

Status TraceReader::check_files(std::span<const TraceRecord> records) const {
  if (on_damage_ == OnDamage::kRecover) return {};
  for (const TraceRecord& record : records)
    if (record.file >= file_count_ && record.file != kFileUnknown)
      return place().damage("file " + std::to_string(record.file) + " has no block");
  return {};
}

void TraceReader::warn(const Error& warning) {
  if (warnings_.size() < kWarningsMax) warnings_.push_back(warning);
}

/// Moves to the next block after damage.
Status TraceReader::skip_damage(const Error& damage) {
  warn(damage);
  std::uint64_t next = block_end_;
  if (next == 0) {
    const auto found = find_header(position_ + 1);
    if (!found) return failure(found.error());
    is_at_end_ = !found->has_value();
    const auto size = file_->size();
    if (!size) return failure(size.error());
    next = found->value_or(std::max(*size, position_));
  }
  skipped_bytes_ += next - position_;
  position_ = next;
  return {};
}

/// The offset of the first valid header at `offset` or behind it.
Result<std::optional<std::uint64_t>> TraceReader::find_header(std::uint64_t offset) {
  std::vector<std::byte> bytes(kSearchBytes);
  const auto letters = std::as_bytes(std::span(kKindLetters));
  while (true) {
    const auto got = file_->read_at(bytes, offset);
    if (!got) return failure(got.error());
    const auto window = std::span(bytes).first(*got);
    auto rest = window;
    while (rest.size() >= sizeof(BlockHeader)) {
      const auto found = std::ranges::search(rest, letters);
      rest = rest.subspan(static_cast<std::size_t>(found.begin() - rest.begin()));
      if (rest.size() < sizeof(BlockHeader)) break;
      if (decode_block_header(rest.first(sizeof(BlockHeader)), place()))
        return offset + static_cast<std::uint64_t>(rest.data() - window.data());
      rest = rest.subspan(1);
    }
    if (*got < bytes.size()) return std::optional<std::uint64_t>();
    // The next window has the end of this one again, which may begin a header.
    offset += bytes.size() - (sizeof(BlockHeader) - 1);
  }
}

}  // namespace forebay::trace
