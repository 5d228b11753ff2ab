// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/row_writer.hpp"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "bench/frame/work_directory.hpp"

namespace forebay::bench::cube {
namespace {

/// New memory, and the number of its rows in use.
class CountedMemory final : public RowMemory {
 public:
  std::byte* acquire(std::uint64_t bytes) override {
    ++rows_;
    return fresh_->acquire(bytes);
  }
  void release(std::byte* row) noexcept override {
    --rows_;
    fresh_->release(row);
  }
  int rows() const { return rows_; }

 private:
  std::unique_ptr<RowMemory> fresh_ = make_row_memory(RowAllocation::kFresh, 0);
  int rows_ = 0;
};

TEST(RowWriter, acquire_releases_memory_of_completed_writes) {
  auto directory = WorkDirectory::make(::testing::TempDir());
  ASSERT_TRUE(directory);
  auto file = StdioTemporaryFile::create((directory->path() / "rows").string());
  ASSERT_TRUE(file);
  CountedMemory memory;
  const auto writer = make_row_writer(RowWriteMode::kAio, ThreadPlacement::kUnbound, memory);
  auto row = writer->acquire(4096);
  ASSERT_TRUE(row);
  ASSERT_TRUE(writer->write({&*file, 0}, *row));
  // However long the write takes: rows acquired until then are released immediately.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (memory.rows() > 0 && std::chrono::steady_clock::now() < end) {
    auto next = writer->acquire(4096);
    ASSERT_TRUE(next);
    memory.release(next->data());
  }
  EXPECT_EQ(memory.rows(), 0);
}

}  // namespace
}  // namespace forebay::bench::cube
