// SPDX-License-Identifier: Apache-2.0
// SessionBooks: everything that the side which reads storage and those who take data know about
// each other, laid over two pieces of memory. The *table* is written by the reading side alone, so
// others may map it read-only; in the *ledger* each client writes its own row. Both hold no
// pointers. docs/formats/arena.md has the layout.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "shm/residency.hpp"

namespace forebay::shm {

/// What the reading side waits for when it rests; whoever gives memory back tells it accordingly.
enum class Stall : std::uint32_t {
  kNone,
  kUntilRetired,   ///< until a slot's bytes were all handed out
  kUntilReleased,  ///< until any pin is gone
};

/// How large the books are.
struct BooksShape {
  std::uint32_t splinters = 0;
  std::uint32_t slots_max = 0;
  std::uint32_t clients = 1;

  friend bool operator==(const BooksShape&, const BooksShape&) = default;
};

/// The first bytes of the table.
struct TableHeader {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  BooksShape shape;
  /// Slots that the window has now; it only grows.
  alignas(128) std::atomic<std::uint32_t> slots{0};
  std::atomic<Stall> stall{Stall::kNone};
  /// Totals for reports.
  alignas(128) std::atomic<std::uint64_t> bytes_read{0};
  std::atomic<std::uint64_t> bytes_from_nodes{0};
  std::atomic<std::uint64_t> splinters_loaded{0};
  std::atomic<std::uint64_t> splinters_reread{0};
  std::atomic<std::uint64_t> window_bytes{0};
  std::atomic<std::uint64_t> eager_bytes{0};
};

/// A view on memory that outlives it. Any thread, as far as its parts allow.
class SessionBooks {
 public:
  static constexpr std::uint64_t kMagic = 0x736b6f6f42796246;  // "FbyBooks"
  static constexpr std::uint32_t kVersion = 1;
  /// That both pieces of memory must have.
  static constexpr std::size_t kAlignment = 128;

  static std::size_t table_bytes(const BooksShape& shape) noexcept {
    return places_of(shape).table_bytes;
  }
  static std::size_t ledger_bytes(const BooksShape& shape) noexcept {
    return Ledger::size_of(shape.clients, shape.slots_max) * sizeof(Mark);
  }

  SessionBooks() = default;
  /// Begins books in zeroed memory of at least those sizes.
  static SessionBooks begin(const BooksShape& shape,
                            std::span<std::byte> table,
                            std::span<std::byte> ledger) noexcept;
  /// The books that somebody else has begun. `table` may be mapped read-only. False if they are
  /// none, or of another version or shape than the memory has room for.
  bool attach(std::span<std::byte> table, std::span<std::byte> ledger) noexcept;

  TableHeader& header() const noexcept { return *header_; }
  std::span<Splinter> splinters() const noexcept { return {splinters_, header_->shape.splinters}; }
  Splinter& operator[](std::uint32_t splinter) const noexcept { return splinters_[splinter]; }
  const Ledger& ledger() const noexcept { return ledger_; }

  /// Bytes handed out from a slot since restart_count().
  std::uint64_t served_bytes(std::uint32_t slot) const noexcept {
    return Ledger::difference(ledger_.served_bytes(slot),
                              served_before_[slot].load(std::memory_order_relaxed));
  }
  /// Counts a slot from zero again, and returns what was counted so far. For the reading side.
  std::uint64_t restart_count(std::uint32_t slot) const noexcept {
    const std::uint64_t now = ledger_.served_bytes(slot);
    return Ledger::difference(now, served_before_[slot].exchange(now, std::memory_order_relaxed));
  }

 private:
  struct Places {
    std::size_t splinters = 0;
    std::size_t served_before = 0;
    std::size_t table_bytes = 0;
  };
  static Places places_of(const BooksShape& shape) noexcept;
  void lay_over(const BooksShape& shape,
                std::span<std::byte> table,
                std::span<std::byte> ledger) noexcept;

  TableHeader* header_ = nullptr;
  Splinter* splinters_ = nullptr;
  std::atomic<std::uint64_t>* served_before_ = nullptr;
  Ledger ledger_;
};

}  // namespace forebay::shm
