// SPDX-License-Identifier: Apache-2.0
// Loads: the transfers of a request. Neighbouring pieces become one load, so that a million small
// parts are read in as few transfers as their bytes need; a large block is cut into its pieces, so
// that each is checked while it is warm. Pure.
#pragma once

#include <vector>

#include "format/block_reader.hpp"
#include "restore/want.hpp"

namespace forebay::restore {

/// No load is longer: a piece, and what a core's cache keeps until it was checked.
inline constexpr std::uint64_t kLoadBytesMax = format::kPieceBytes;
/// So much that nobody wants is read along, if that makes one load of two.
inline constexpr std::uint64_t kGapBytesMax = 64_KiB;

/// A piece in a load.
struct PieceWant {
  const BlockWant* want = nullptr;
  std::uint64_t piece = 0;
  ByteRange stored = {};  ///< what is read of it, from the start of the file
  ByteRange raw = {};     ///< bytes of the block that are wanted of it; of a box, their hull
};

/// A transfer: pieces in the order in which they lie in the file.
struct Load {
  std::uint32_t file = 0;
  ByteRange stored = {};
  std::vector<PieceWant> pieces = {};
};

/// Whether pieces are read whole.
enum class Extents : std::uint8_t { kPieces, kWantedOnly };

/// Walks over the loads of a request. Keeps no copy of the list.
class LoadCursor {
 public:
  LoadCursor(const WantList& list, Extents extents);

  bool done() const noexcept { return !has_next_; }
  /// The next load. Not when done().
  Load next();

 private:
  void find_next();
  bool enter_want();
  void set_piece(const BlockWant& want, ByteRange raw);

  const WantList* list_;
  Extents extents_;
  std::size_t want_ = 0;
  bool entered_ = false;  // block_ and pieces_ are those of want_
  format::Block block_{};
  std::uint64_t piece_ = 0;  // of block_, to be looked at next
  std::uint64_t piece_end_ = 0;
  bool has_next_ = false;
  PieceWant next_{};
  std::uint32_t next_file_ = 0;
};

/// Bytes that the loads will read, from the first to the last in each file, against those that are
/// wanted: whether most of what lies in between is wanted too.
bool is_dense(const WantList& list);

}  // namespace forebay::restore
