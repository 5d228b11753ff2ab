// SPDX-License-Identifier: Apache-2.0
// A .cubex file opened for reading: its description is in memory, its rows are read one by one,
// wherever they are. So memory depends on the description and not on the file.
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
#include "cube/byte_source.hpp"
#include "cube/container.hpp"
#include "cube/index.hpp"
#include "cube/row_table.hpp"

namespace forebay::cube {

/// Where the rows of a metric are in a file. Rows are known by their place in the index.
struct StoredRows {
  Index index;
  ValueType type;
  ByteRange data;                      ///< the whole member
  std::uint64_t row_bytes = 0;         ///< of an unpacked row
  std::uint64_t first_row_offset = 0;  ///< in the file
  bool is_packed = false;
  RowTable packed;                   ///< if packed
  std::uint64_t trailing_bytes = 0;  ///< behind the last plain row

  /// The place of a row's number; nullopt if the row is not there.
  std::optional<std::uint64_t> place_of(std::uint32_t row) const;
  /// Its bytes in the file, packed if they are; none for a row that is packed away as zero.
  ByteRange row(std::uint64_t place) const;
};

/// Reads the description. Fails as the page says; offsets are those of the file, or the beginning
/// of the member if it is packed.
Result<Anchor> read_anchor(const ByteSource& source, const Container& container);

/// Reads the index of a metric and finds its rows; nullopt if it has neither index nor data.
Result<std::optional<StoredRows>> find_rows(const ByteSource& source,
                                            const Container& container,
                                            const Anchor& anchor,
                                            const Metric& metric);

/// Memory that a reader of rows uses again and again. One for each thread.
struct RowScratch {
  std::vector<std::byte> packed;
};

/// Fills `into`, `rows.row_bytes` long, with the row at `place` in the byte order of this machine.
/// Thread-safe. Fails with kDamage where a packed row does not give a row.
Status read_stored_row(const ByteSource& source,
                       const StoredRows& rows,
                       std::uint64_t place,
                       std::span<std::byte> into,
                       RowScratch& scratch);

/// A whole profile. Reading is thread-safe; metrics are named by their place in the description.
class Profile {
 public:
  /// Reads the description and all indexes. profile_file.hpp does it for a path.
  static Result<Profile> open(std::shared_ptr<const ByteSource> source);

  const std::string& path() const noexcept { return source_->path(); }
  std::uint64_t file_bytes() const noexcept { return source_->size_bytes(); }
  const Container& container() const noexcept { return container_; }
  const Anchor& anchor() const noexcept { return anchor_; }
  /// None: the metric is derived, or all its values are zero.
  const std::optional<StoredRows>& rows(std::size_t metric) const { return rows_[metric]; }

  /// Has rows read through another source of the same file from now on.
  void read_through(std::shared_ptr<const ByteSource> source) { source_ = std::move(source); }

  /// Fills `into` with a row's values, zeros if it is not there. `row` is its number in the
  /// numbering of the metric's kind, `into` has anchor().row_bytes(metric).
  Status read_row(std::size_t metric,
                  std::uint32_t row,
                  std::span<std::byte> into,
                  RowScratch& scratch) const;

  /// The row will be read soon: a hint. Whether it is there or not does not matter.
  void expect_row(std::size_t metric, std::uint32_t row) const;

  /// The content of a member that is text.
  Result<std::string> text_of(const Member& member) const;

 private:
  std::shared_ptr<const ByteSource> source_;
  Container container_;
  Anchor anchor_;
  std::vector<std::optional<StoredRows>> rows_;
};

}  // namespace forebay::cube
