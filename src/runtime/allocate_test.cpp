// SPDX-License-Identifier: Apache-2.0
// Buffers of a Runtime: freed memory is reused within the bound of the options, and held buffers
// stay valid after the Runtime.
#include <forebay/forebay.hpp>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

TEST(Allocate, freed_memory_is_reused) {
  Runtime runtime;
  std::optional<Buffer> first = runtime.allocate(5_MiB).value();
  EXPECT_EQ(first->size(), 5_MiB);
  EXPECT_EQ(first->kind(), MemoryKind::kHost);
  std::byte* const address = first->data();
  std::fill(first->bytes().begin(), first->bytes().end(), std::byte{1});
  first.reset();
  EXPECT_EQ(runtime.allocate(5_MiB)->data(), address);
}

TEST(Allocate, cache_keeps_at_most_the_bound_of_the_options) {
  const std::size_t before = open_descriptor_count();
  Runtime runtime({.tuning = {.buffer_cache_bytes = 4_MiB}});
  {
    const auto small = runtime.allocate(4_MiB);
  }
  EXPECT_EQ(open_descriptor_count(), before + 1);
  {
    const auto large = runtime.allocate(6_MiB);
  }
  EXPECT_LE(open_descriptor_count(), before + 1);
}

TEST(Allocate, buffer_outlives_its_runtime) {
  const std::size_t before = open_descriptor_count();
  std::optional<Buffer> buffer;
  {
    Runtime runtime;
    buffer = runtime.allocate(3_MiB).value();
    const auto kept = runtime.allocate(3_MiB);
  }
  EXPECT_EQ(open_descriptor_count(), before + 1) << "only the buffer is left";
  std::fill(buffer->bytes().begin(), buffer->bytes().end(), std::byte{2});
  EXPECT_EQ(buffer->as<std::byte>().back(), std::byte{2});
  buffer.reset();
  EXPECT_EQ(open_descriptor_count(), before);
}

/// A thread that uses a buffer and frees it.
std::thread use_in_thread(Buffer buffer) {
  return std::thread([buffer = std::move(buffer)]() mutable {
    buffer.bytes().front() = std::byte{3};
    const Buffer last = std::move(buffer);
    EXPECT_EQ(last.bytes().front(), std::byte{3});
  });
}

TEST(Allocate, buffers_freed_while_the_runtime_ends_leave_no_descriptor) {
  {
    const Runtime first;
  }
  const std::size_t before = open_descriptor_count();
  std::vector<std::thread> threads;
  {
    Runtime runtime;
    for (int i = 0; i < 4; ++i)
      threads.push_back(use_in_thread(runtime.allocate(100'000).value()));
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(open_descriptor_count(), before);
}

TEST(Allocate, impossible_requests_are_errors) {
  Runtime runtime;
  EXPECT_EQ(error_class(runtime.allocate(std::uint64_t{1} << 50U)), ErrorClass::kLimit);
}

}  // namespace
}  // namespace forebay
