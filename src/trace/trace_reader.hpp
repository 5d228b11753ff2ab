// SPDX-License-Identifier: Apache-2.0
// TraceReader: reads a trace block by block (docs/formats/trace.md). Its memory is that of one
// block, at most 3 MiB.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "storage/file.hpp"
#include "trace/trace_block.hpp"

namespace forebay::trace {

struct SourceBlock {
  std::uint32_t number = 0;
  SourceInfo info;
};

struct FileBlock {
  std::uint16_t number = 0;
  FileInfo info;
};

struct RecordsBlock {
  std::uint32_t source = 0;
  std::uint32_t lost_records = 0;        ///< of this source, since its preceding block of records
  std::span<const TraceRecord> records;  ///< valid until the next call of next()
};

using TraceBlock = std::variant<SourceBlock, FileBlock, RecordsBlock>;

/// Blocks. One thread at a time.
class TraceReader {
 public:
  enum class OnDamage : std::uint8_t {
    kFail,     ///< next() fails with kDamage, again and again
    kRecover,  ///< next() skips damaged blocks
  };
  /// Number of warnings that are kept.
  static constexpr std::size_t kWarningsMax = 64;

  /// Fails as decode_trace_header().
  static Result<TraceReader> open(std::shared_ptr<storage::File> file,
                                  OnDamage on_damage = OnDamage::kFail);

  /// Time of the start since 1970; 0: unknown.
  std::uint64_t start_ns() const noexcept { return start_ns_; }

  /// The bytes of the file that next() has passed.
  std::uint64_t position() const noexcept { return position_; }

  /// The next block; no value at the end. Sources and files are numbered from 0 without gaps, and
  /// precede the records that refer to them. With kRecover, numbers may be missing.
  Result<std::optional<TraceBlock>> next();

  /// An incomplete block at the end of the file (kShortFile), and damage that was skipped
  /// (kDamage), each with its offset.
  const std::vector<Error>& warnings() const noexcept { return warnings_; }
  /// Bytes of damaged or incomplete blocks.
  std::uint64_t skipped_bytes() const noexcept { return skipped_bytes_; }

 private:
  TraceReader(std::shared_ptr<storage::File> file, OnDamage on_damage)
      : file_(std::move(file)), on_damage_(on_damage) {}
  Result<std::optional<TraceBlock>> read_block();
  Result<TraceBlock> decode_block(const BlockHeader& header);
  Status check_numbers(const BlockHeader& header) const;
  Status check_files(std::span<const TraceRecord> records) const;
  Result<bool> fill(std::span<std::byte> into, std::uint64_t offset);
  Status skip_damage(const Error& damage);
  Result<std::optional<std::uint64_t>> find_header(std::uint64_t offset);
  void warn(const Error& warning);
  TracePlace place() const { return {file_->path(), position_}; }

  std::shared_ptr<storage::File> file_;
  OnDamage on_damage_;
  std::uint64_t start_ns_ = 0;
  std::uint64_t position_ = sizeof(TraceHeader);
  std::uint64_t block_end_ = 0;  ///< of the block at position_; 0: its header is damaged
  bool is_at_end_ = false;
  std::uint32_t source_count_ = 0;
  std::uint32_t file_count_ = 0;
  std::vector<std::byte> stored_;
  std::vector<std::byte> raw_;
  std::vector<TraceRecord> records_;
  std::vector<Error> warnings_;
  std::uint64_t skipped_bytes_ = 0;
};

}  // namespace forebay::trace
