// SPDX-License-Identifier: Apache-2.0
#include "shm/session_books.hpp"

#include <new>

#include "base/assert.hpp"

namespace forebay::shm {

namespace {

constexpr std::size_t align_up(std::size_t value) {
  return (value + SessionBooks::kAlignment - 1) / SessionBooks::kAlignment *
         SessionBooks::kAlignment;
}

bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % SessionBooks::kAlignment == 0;
}

}  // namespace

static_assert(alignof(TableHeader) == SessionBooks::kAlignment);
static_assert(std::atomic<Stall>::is_always_lock_free);

SessionBooks::Places SessionBooks::places_of(const BooksShape& shape) noexcept {
  Places places;
  places.splinters = align_up(sizeof(TableHeader));
  places.served_before =
      align_up(places.splinters + std::size_t{shape.splinters} * sizeof(Splinter));
  places.table_bytes = align_up(places.served_before +
                                std::size_t{shape.slots_max} * sizeof(std::atomic<std::uint64_t>));
  return places;
}

void SessionBooks::lay_over(const BooksShape& shape,
                            std::span<std::byte> table,
                            std::span<std::byte> ledger) noexcept {
  const Places places = places_of(shape);
  // The types are those of zeroed memory; nothing is written here, as the memory may be in use.
  header_ = std::launder(reinterpret_cast<TableHeader*>(table.data()));
  splinters_ = std::launder(reinterpret_cast<Splinter*>(table.data() + places.splinters));
  served_before_ = std::launder(
      reinterpret_cast<std::atomic<std::uint64_t>*>(table.data() + places.served_before));
  const std::size_t marks = Ledger::size_of(shape.clients, shape.slots_max);
  ledger_ = Ledger({std::launder(reinterpret_cast<Mark*>(ledger.data())), marks}, shape.clients,
                   shape.slots_max);
}

SessionBooks SessionBooks::begin(const BooksShape& shape,
                                 std::span<std::byte> table,
                                 std::span<std::byte> ledger) noexcept {
  FOREBAY_ASSERT(table.size() >= table_bytes(shape));
  FOREBAY_ASSERT(ledger.size() >= ledger_bytes(shape));
  FOREBAY_ASSERT(is_aligned(table.data()));
  FOREBAY_ASSERT(is_aligned(ledger.data()));
  SessionBooks books;
  books.lay_over(shape, table, ledger);
  books.header_->magic = kMagic;
  books.header_->version = kVersion;
  books.header_->shape = shape;
  return books;
}

bool SessionBooks::attach(std::span<std::byte> table, std::span<std::byte> ledger) noexcept {
  if (table.size() < sizeof(TableHeader) || !is_aligned(table.data())) return false;
  if (!is_aligned(ledger.data())) return false;
  const auto& header = *std::launder(reinterpret_cast<const TableHeader*>(table.data()));
  if (header.magic != kMagic || header.version != kVersion) return false;
  const BooksShape shape = header.shape;
  // By division: the product of two such numbers may wrap.
  const std::size_t row_marks = Ledger::size_of(1, shape.slots_max);
  if (shape.clients == 0 || row_marks > ledger.size() / sizeof(Mark) / shape.clients) return false;
  if (table.size() < table_bytes(shape) || ledger.size() < ledger_bytes(shape)) return false;
  lay_over(shape, table, ledger);
  return true;
}

}  // namespace forebay::shm
