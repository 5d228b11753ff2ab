// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/row_writer.hpp"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "bench/frame/work_folder.hpp"

namespace forebay::bench::cube {
namespace {

/// Fresh memory, and how many rows of it there are.
class CountedMemory final : public RowMemory {
 public:
  std::byte* take(std::uint64_t bytes) override {
    ++rows_;
    return fresh_->take(bytes);
  }
  void give_back(std::byte* row) noexcept override {
    --rows_;
    fresh_->give_back(row);
  }
  int rows() const { return rows_; }

 private:
  std::unique_ptr<RowMemory> fresh_ = make_row_memory(Memory::kFresh, 0);
  int rows_ = 0;
};

TEST(RowWriter, memory_of_writes_that_ended_comes_back_with_the_next_row) {
  auto folder = WorkFolder::make(::testing::TempDir());
  ASSERT_TRUE(folder);
  auto file = TemporaryFile::create((folder->path() / "rows").string());
  ASSERT_TRUE(file);
  CountedMemory memory;
  const auto writer = make_row_writer(Writing::kAio, Placement::kAnywhere, memory);
  auto row = writer->take(4096);
  ASSERT_TRUE(row);
  ASSERT_TRUE(writer->write({&*file, 0}, *row));
  // However long the write takes: rows that are taken until then go back at once.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (memory.rows() > 0 && std::chrono::steady_clock::now() < end) {
    auto next = writer->take(4096);
    ASSERT_TRUE(next);
    memory.give_back(next->data());
  }
  EXPECT_EQ(memory.rows(), 0);
}

}  // namespace
}  // namespace forebay::bench::cube
