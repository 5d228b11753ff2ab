// SPDX-License-Identifier: Apache-2.0
// PieceCache: the most recently used pieces that were read for a part of them. A piece is read and
// verified as a whole, so without the cache each of many small requests would read all of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace forebay::restore {

/// Where a piece is stored.
struct PieceKey {
  std::uint64_t step = 0;
  std::uint32_t file = 0;
  std::uint64_t offset = 0;

  friend bool operator==(const PieceKey&, const PieceKey&) = default;
};

/// Thread-safe. One for each dataset. Holds at most kPiecesMax pieces, those that were used last.
class PieceCache {
 public:
  /// The raw bytes of a whole piece, after verification.
  using Bytes = std::shared_ptr<const std::byte[]>;
  static constexpr std::size_t kPiecesMax = 4;

  /// Marks a piece as being loaded, until destruction.
  class Loading {
   public:
    Loading(PieceCache& cache, PieceKey key);
    Loading(Loading&& other) noexcept
        : cache_(std::exchange(other.cache_, nullptr)), key_(other.key_) {}
    Loading& operator=(Loading&&) = delete;
    ~Loading();
    /// Adds the piece to the cache.
    void finish(Bytes bytes);

   private:
    PieceCache* cache_;
    PieceKey key_;
  };

  /// Null if the piece is not in the cache.
  Bytes find(PieceKey key);
  bool is_loading(PieceKey key) const;

 private:
  struct Entry {
    PieceKey key = {};
    Bytes bytes = nullptr;
  };

  mutable std::mutex mutex_;
  std::array<Entry, kPiecesMax> entries_;  // the one that was used last is first
  std::vector<PieceKey> loading_;          // a piece may be loaded several times
};

}  // namespace forebay::restore
