// SPDX-License-Identifier: Apache-2.0
#include "shm/session_books.hpp"

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::shm {
namespace {

struct alignas(SessionBooks::kAlignment) Line {
  std::array<std::byte, SessionBooks::kAlignment> bytes{};
};

/// Memory for books, as two processes would map it.
struct Memory {
  explicit Memory(const BooksShape& shape)
      : table_lines(SessionBooks::table_bytes(shape) / sizeof(Line)),
        ledger_lines(SessionBooks::ledger_bytes(shape) / sizeof(Line)) {}
  std::span<std::byte> table() { return std::as_writable_bytes(std::span(table_lines)); }
  std::span<std::byte> ledger() { return std::as_writable_bytes(std::span(ledger_lines)); }

  std::vector<Line> table_lines;
  std::vector<Line> ledger_lines;
};

constexpr BooksShape kShape{.splinters = 1000, .slots_max = 17, .clients = 3};

TEST(SessionBooks, who_attaches_sees_what_the_other_side_writes) {
  Memory memory(kShape);
  const SessionBooks writer = SessionBooks::begin(kShape, memory.table(), memory.ledger());
  SessionBooks reader;
  ASSERT_TRUE(reader.attach(memory.table(), memory.ledger()));
  EXPECT_EQ(reader.header().shape, kShape);
  EXPECT_EQ(reader.splinters().size(), 1000U);
  writer[999].set_slot(16);
  writer[999].set_residency(Residency::kReady);
  ASSERT_EQ(reader.ledger().pin(reader[999], 2), Ledger::Pin::kHeld);
  EXPECT_EQ(writer.ledger().pins(16), 1U);
}

TEST(SessionBooks, parts_do_not_overlap) {
  Memory memory(kShape);
  const SessionBooks books = SessionBooks::begin(kShape, memory.table(), memory.ledger());
  for (std::uint32_t slot = 0; slot < kShape.slots_max; ++slot) {
    for (std::uint32_t client = 0; client < kShape.clients; ++client) {
      ASSERT_TRUE(books.ledger().at(client, slot).add_pin());
      books.ledger().at(client, slot).remove_pin(slot + 1);
    }
    EXPECT_EQ(books.restart_count(slot), 3 * (slot + 1));
    EXPECT_EQ(books.served_bytes(slot), 0U);
  }
  for (const Splinter& splinter : books.splinters())
    ASSERT_EQ(splinter.load().bits, 0U);
  for (std::uint32_t i = 0; i < kShape.splinters; ++i)
    books[i].set_slot(UINT32_MAX);
  EXPECT_EQ(books.header().slots, 0U);
  EXPECT_EQ(books.served_bytes(0), 0U);
}

TEST(SessionBooks, what_is_no_books_is_refused) {
  Memory memory(kShape);
  SessionBooks reader;
  EXPECT_FALSE(reader.attach(memory.table(), memory.ledger())) << "nobody has begun them";
  static_cast<void>(SessionBooks::begin(kShape, memory.table(), memory.ledger()));
  const auto refuses = [&](auto change) {
    Memory copy(kShape);
    std::memcpy(copy.table().data(), memory.table().data(), memory.table().size());
    SessionBooks other;
    EXPECT_TRUE(other.attach(copy.table(), copy.ledger()));
    change(other.header());
    return !SessionBooks().attach(copy.table(), copy.ledger());
  };
  EXPECT_TRUE(refuses([](TableHeader& header) { header.magic ^= 1U; }));
  EXPECT_TRUE(refuses([](TableHeader& header) { ++header.version; }));
  EXPECT_TRUE(refuses([](TableHeader& header) { header.shape.splinters += 8; }));
  EXPECT_TRUE(refuses([](TableHeader& header) { header.shape.slots_max += 16; }));
  EXPECT_TRUE(refuses([](TableHeader& header) { ++header.shape.clients; }));
  EXPECT_FALSE(reader.attach(memory.table().first(64), memory.ledger()));
  EXPECT_FALSE(reader.attach(memory.table(), memory.ledger().first(128)));
}

}  // namespace
}  // namespace forebay::shm
