// SPDX-License-Identifier: Apache-2.0
// Real transfers longer than one system call can move: 3 GiB of a file with a hole, into address
// space with little memory behind it. CkIO counted bytes in an int here.
#include <array>
#include <string>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "storage/engine.hpp"
#include "storage/probe.hpp"
#include "storage/testing.hpp"

// The thread sanitizer has shadow memory for every byte that a system call writes: 3 GiB of address
// space would cost 12 GiB of memory. engine_test.cpp splits long transfers under it, without
// memory.
#if defined(__SANITIZE_THREAD__)
#define FOREBAY_TEST_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FOREBAY_TEST_THREAD_SANITIZER 1
#endif
#endif
#ifndef FOREBAY_TEST_THREAD_SANITIZER

namespace forebay::storage {
namespace {

constexpr std::uint64_t kSize = 3_GiB;
constexpr std::uint64_t kTail = 1000;  // the file ends inside a block
constexpr std::uint64_t kWindow = 1_MiB;
constexpr std::uint64_t kSharedBytes = 16_MiB;

/// 3 GiB of address space on 16 MiB of memory, mapped repeatedly: bytes written to one part appear
/// in all others. Only windows around the interesting offsets have separate memory.
class AliasedMemory {
 public:
  AliasedMemory() {
    const Descriptor memory(::memfd_create("forebay-test", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(memory.get(), static_cast<off_t>(kSharedBytes)), 0);
    void* const base =
        ::mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(base, MAP_FAILED);
    data_ = static_cast<std::byte*>(base);
    for (std::uint64_t at = 0; at < kSize; at += kSharedBytes) {
      EXPECT_NE(::mmap(data_ + at, kSharedBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                       memory.get(), 0),
                MAP_FAILED);
    }
    for (const std::uint64_t at : kWindowOffsets) {
      EXPECT_NE(::mmap(data_ + at, kWindow, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                MAP_FAILED);
    }
  }
  ~AliasedMemory() { ::munmap(data_, kSize); }
  AliasedMemory(const AliasedMemory&) = delete;
  AliasedMemory& operator=(const AliasedMemory&) = delete;

  std::span<std::byte> bytes() const { return {data_, kSize}; }

  /// Windows in which the file has its pattern and the memory separate pages: the start, both sides
  /// of the limit of one system call, both sides of 2 GiB, and the end.
  static constexpr std::array<std::uint64_t, 3> kWindowOffsets{0, 2_GiB - kWindow / 2,
                                                               kSize - kWindow};

 private:
  std::byte* data_ = nullptr;
};

struct LongCase {
  const char* name;
  BackendChoice backend;
  Access access;
};

std::string long_case_name(const ::testing::TestParamInfo<LongCase>& what) {
  return what.param.name;
}

class LongTransfer : public ::testing::TestWithParam<LongCase> {
 protected:
  /// A file of 3 GiB less a bit, a hole except for the windows.
  void SetUp() override {
    const auto writer = must_open(path_, {.intent = Intent::kCreate});
    ASSERT_TRUE(writer);
    for (const std::uint64_t at : AliasedMemory::kWindowOffsets) {
      std::vector<std::byte> bytes(kWindow);
      fill_pattern(bytes, at);
      ASSERT_TRUE(writer->write_at(bytes, at));
    }
    ASSERT_TRUE(writer->truncate(kSize - kTail));
    ASSERT_TRUE(writer->sync());
  }

  void expect_windows(std::span<const std::byte> memory) {
    for (const std::uint64_t at : AliasedMemory::kWindowOffsets) {
      const std::uint64_t expected = std::min(kWindow, kSize - kTail - at);
      EXPECT_EQ(matching_pattern(memory.subspan(at, expected), at), expected) << "window " << at;
    }
  }

  /// tmpfs reads holes without allocating memory; the page cache of a disk would fill with 3 GiB of
  /// zeros.
  static std::string parent() {
    return GetParam().access == Access::kBuffered ? "/dev/shm" : ::testing::TempDir();
  }

  TemporaryDirectory directory_{parent()};
  const std::string path_ = directory_ / "long";
};

TEST_P(LongTransfer, read_of_3_gib_is_complete_and_in_place) {
  const auto file = open_file(path_, {.access = GetParam().access});
  if (!file) GTEST_SKIP() << file.error().message();
  auto backend = make_backend({.choice = GetParam().backend, .queue_depth = 2});
  if (!backend) GTEST_SKIP() << backend.error().message();
  const AliasedMemory memory;
  Engine engine(std::move(*backend));
  const Operation read = read_operation(**file, 0, memory.bytes(), 1);
  engine.submit({&read, 1});
  std::array<Completion, 1> completions;
  ASSERT_EQ(engine.wait(completions, std::nullopt), 1U);
  ASSERT_TRUE(completions[0].bytes) << completions[0].bytes.error().message();
  EXPECT_EQ(*completions[0].bytes, kSize - kTail);
  expect_windows(memory.bytes());
}

INSTANTIATE_TEST_SUITE_P(
    Backends,
    LongTransfer,
    ::testing::Values(LongCase{"threads_buffered", BackendChoice::kThreads, Access::kBuffered},
                      LongCase{"threads_direct", BackendChoice::kThreads, Access::kDirect},
                      LongCase{"io_uring_direct", BackendChoice::kIoUring, Access::kDirect},
                      LongCase{"aio_buffered", BackendChoice::kAio, Access::kBuffered},
                      LongCase{"aio_direct", BackendChoice::kAio, Access::kDirect}),
    long_case_name);

class LongSynchronous : public LongTransfer {};

TEST_P(LongSynchronous, read_at_of_3_gib_is_complete) {
  const auto file = open_file(path_, {.access = GetParam().access});
  if (!file) GTEST_SKIP() << file.error().message();
  const AliasedMemory memory;
  const auto read = (*file)->read_at(memory.bytes(), 0);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, kSize - kTail);
  expect_windows(memory.bytes());
}

INSTANTIATE_TEST_SUITE_P(Files,
                         LongSynchronous,
                         ::testing::Values(LongCase{"direct", BackendChoice::kAuto,
                                                    Access::kDirect}),
                         long_case_name);

}  // namespace
}  // namespace forebay::storage

#endif
