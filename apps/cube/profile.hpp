// SPDX-License-Identifier: Apache-2.0
// A .cubex file opened for reading. Its description is in memory; its rows are read one by one. So
// memory depends on the description and not on the file size.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cube/anchor.hpp"
#include "cube/container.hpp"
#include "cube/index.hpp"
#include "cube/random_access_file.hpp"
#include "cube/row_table.hpp"

namespace forebay::cube {

/// The rows of a metric in a file, identified by their position in the index.
struct StoredRows {
  Index index;
  ValueType type;
  ByteRange data;                      ///< the complete member
  std::uint64_t row_bytes = 0;         ///< of an uncompressed row
  std::uint64_t first_row_offset = 0;  ///< in the file
  bool is_compressed = false;
  RowTable compressed;               ///< used if is_compressed
  std::uint64_t trailing_bytes = 0;  ///< after the last plain row

  /// The position in the index of a row number; nullopt if the row is absent.
  std::optional<std::uint64_t> index_of(std::uint32_t row) const;
  /// The range of a row in the file, compressed if rows are; empty for a compressed row of zeros.
  ByteRange row(std::uint64_t position) const;
};

/// Reads the description. Fails as docs/formats/cubex.md specifies. Offsets are those of the file;
/// in a compressed member, the beginning of the member.
Result<Anchor> read_anchor(const RandomAccessFile& source, const Container& container);

/// Reads the index of a metric and locates its rows; nullopt if it has neither index nor data.
Result<std::optional<StoredRows>> find_rows(const RandomAccessFile& source,
                                            const Container& container,
                                            const Anchor& anchor,
                                            const Metric& metric);

/// Reused memory for reading rows. One for each thread.
struct RowScratch {
  std::vector<std::byte> compressed;
};

/// Fills `into`, which has `rows.row_bytes` bytes, with the row at `position` of the index, in the
/// byte order of this machine. Blocks. Thread-safe. Fails with kDamage if a compressed row does not
/// decompress to one row.
Status read_stored_row(const RandomAccessFile& source,
                       const StoredRows& rows,
                       std::uint64_t position,
                       std::span<std::byte> into,
                       RowScratch& scratch);

/// A complete profile. Reading is thread-safe. Metrics are identified by their index in the
/// description.
class Profile {
 public:
  /// Reads the description and all indexes. profile_file.hpp opens a profile by path.
  static Result<Profile> open(std::shared_ptr<const RandomAccessFile> source);

  const std::string& path() const noexcept { return source_->path(); }
  std::uint64_t file_bytes() const noexcept { return source_->size_bytes(); }
  const Container& container() const noexcept { return container_; }
  const Anchor& anchor() const noexcept { return anchor_; }
  /// Empty: the metric is derived, or all its values are zero.
  const std::optional<StoredRows>& rows(std::size_t metric) const { return rows_[metric]; }

  /// Makes later reads use another RandomAccessFile on the same file. Not thread-safe.
  void set_file(std::shared_ptr<const RandomAccessFile> source) { source_ = std::move(source); }

  /// Fills `into` with the values of a row, zeros if it is absent. `row` is its number in the
  /// numbering of the metric's kind. `into` has anchor().row_bytes(metric) bytes. Blocks.
  Status read_row(std::size_t metric,
                  std::uint32_t row,
                  std::span<std::byte> into,
                  RowScratch& scratch) const;

  /// A hint that the row will be read soon. The row may be absent.
  void prefetch_row(std::size_t metric, std::uint32_t row) const;

  /// Returns the content of a text member.
  Result<std::string> text_of(const Member& member) const;

 private:
  std::shared_ptr<const RandomAccessFile> source_;
  Container container_;
  Anchor anchor_;
  std::vector<std::optional<StoredRows>> rows_;
};

}  // namespace forebay::cube
