// SPDX-License-Identifier: Apache-2.0
// LoadCursor: the transfers of a request, called loads. Adjacent pieces are merged into one load,
// so a million small parts need few transfers for their bytes. A large block is split into its
// pieces, so that each is verified while it is in the cache. Pure.
#pragma once

#include <vector>

#include "format/block_reader.hpp"
#include "restore/block_request.hpp"

namespace forebay::restore {

/// Upper limit of a load: a piece, which stays in a core's cache until it is verified.
inline constexpr std::uint64_t kLoadBytesMax = format::kPieceBytes;
/// Largest gap of unrequested bytes that is read to merge two loads.
inline constexpr std::uint64_t kGapBytesMax = 64_KiB;

/// A piece in a load.
struct PieceRequest {
  const BlockRequest* block_request = nullptr;
  std::uint64_t piece = 0;
  ByteRange stored = {};  ///< bytes read of it, from the start of the file
  ByteRange raw = {};     ///< requested bytes of it, from the start of the block; for a box, their
                          ///< hull
};

/// A transfer: pieces in file order.
struct PieceLoad {
  std::uint32_t file = 0;
  ByteRange stored = {};
  std::vector<PieceRequest> pieces = {};
};

/// Whether pieces are read completely.
enum class PieceReadMode : std::uint8_t { kWhole, kRequestedOnly };

/// Iterates over the loads of a request. Refers to the list, which must outlive it.
class LoadCursor {
 public:
  LoadCursor(const BlockRequestList& list, PieceReadMode read_mode);

  bool is_done() const noexcept { return !has_next_; }
  /// The next load. Must not be called when is_done().
  PieceLoad next();

 private:
  void find_next();
  bool enter_block();
  void set_piece(const BlockRequest& block_request, ByteRange raw);

  const BlockRequestList* list_;
  PieceReadMode read_mode_;
  std::size_t block_index_ = 0;
  bool has_block_ = false;  // block_ and pieces_ are those of block_index_
  format::Block block_{};
  std::uint64_t piece_ = 0;  // of block_, the next to process
  std::uint64_t piece_end_ = 0;
  bool has_next_ = false;
  PieceRequest next_{};
  std::uint32_t next_file_ = 0;
};

/// Compares the bytes between the first and the last requested byte of each file with the requested
/// bytes. True if they are at most four times as many.
bool is_dense(const BlockRequestList& list);

}  // namespace forebay::restore
