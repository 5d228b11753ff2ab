// SPDX-License-Identifier: Apache-2.0
// Counters of the ring; its operations are tested in conformance_test.cpp.
#include "storage/ring_backend.hpp"

#include <array>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::storage {
namespace {

class NullLog final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view /*line*/) noexcept override {}
};

TEST(RingBackend, counts_syncs_and_allocations_and_no_transfers) {
  NullLog log;
  const auto ring = make_ring_backend(4, log);
  if (!ring) {  // refused here: no calls to count
    EXPECT_EQ(ring.error().kind(), ErrorClass::kUnsupported) << ring.error().message();
    return;
  }
  const TemporaryDirectory directory;
  const auto file = open_file(directory / "file", {.intent = Intent::kCreate}).value();
  std::array<std::byte, 100> memory{};
  const std::array operations{write_operation(*file, 0, memory, 1), sync_operation(*file, 2),
                              allocate_operation(*file, {0, 8192}, 3),
                              read_operation(*file, 0, memory, 4)};
  const std::uint64_t before = ring_syncs_and_allocations();
  ASSERT_EQ((*ring)->submit(operations), operations.size());
  EXPECT_EQ(ring_syncs_and_allocations(), before + 2);
  std::array<RawCompletion, 4> completions{};
  for (std::size_t ended = 0; ended < operations.size();)
    ended += (*ring)->wait(completions, std::nullopt);
  EXPECT_EQ(ring_syncs_and_allocations(), before + 2);
}

}  // namespace
}  // namespace forebay::storage
