// SPDX-License-Identifier: Apache-2.0
// A DriverFile returns the bytes that plain system calls return, and leaves the file that they
// leave, for random calls; after errors, changes by other processes, and fork().
#include "hdf5/driver_file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"

namespace forebay::hdf5 {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result) << result.error().message();
  return std::move(*result);
}

// Sessions also read files in the page cache.
constexpr DriverOptions kSmall{
    .read_budget_bytes = 1_MiB, .is_page_cache_first = false, .write_budget_bytes = 128_KiB};

class DriverFileTest : public ::testing::Test {
 protected:
  ~DriverFileTest() override { DriverFile::release_runtime(); }

  std::string path(const std::string& name = "data.h5") const { return folder_ / name; }
  std::unique_ptr<DriverFile> open(int flags, const DriverOptions& options = kSmall) const {
    return must(DriverFile::open({path(), flags}, options));
  }
  void create(std::size_t size) const {
    const Bytes content(size, std::byte{7});
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), std::ssize(content));
  }
  Bytes content() const {
    std::ifstream file(path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
  }
  void overwrite(std::uint64_t offset, std::size_t size, std::byte value) const {
    const int descriptor = ::open(path().c_str(), O_WRONLY);
    const Bytes bytes(size, value);
    EXPECT_EQ(::pwrite(descriptor, bytes.data(), size, static_cast<off_t>(offset)),
              std::ssize(bytes));
    ::close(descriptor);
  }

  TemporaryDirectory folder_;
};

Bytes read(DriverFile& file, std::uint64_t offset, std::size_t size) {
  Bytes into(size);
  const Status status = file.read(offset, into);
  EXPECT_TRUE(status) << status.error().message();
  return into;
}

Status write(DriverFile& file, std::uint64_t offset, std::size_t size, std::byte value) {
  return file.write(offset, Bytes(size, value));
}

// Random calls on a file and on a model of its bytes.
class Model {
 public:
  Model(DriverFile& file, Bytes content, unsigned seed)
      : file_(file), bytes_(std::move(content)), random_(seed) {}

  void step() {
    const unsigned choice = below(100);
    if (choice < 45)
      write_some();
    else if (choice < 90)
      read_some();
    else if (choice < 95)
      truncate();
    else
      EXPECT_TRUE(file_.flush());
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  unsigned below(std::size_t limit) { return static_cast<unsigned>(random_() % limit); }
  // Often small and beside the last one, as HDF5's.
  std::uint64_t some_offset() {
    if (below(3) == 0) return last_ + below(3) * 64;
    return below(bytes_.size() + 4096);
  }
  std::size_t some_size() { return 1 + below(below(4) == 0 ? 200'000 : 2000); }

  void write_some() {
    const std::uint64_t offset = some_offset();
    Bytes piece(some_size());
    for (std::byte& one : piece)
      one = static_cast<std::byte>(random_());
    EXPECT_TRUE(file_.write(offset, piece));
    if (bytes_.size() < offset + piece.size()) bytes_.resize(offset + piece.size());
    std::ranges::copy(piece, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    last_ = offset + piece.size();
  }
  void read_some() {
    const std::uint64_t offset = some_offset();
    Bytes expected(some_size());
    for (std::size_t at = 0; at < expected.size() && offset + at < bytes_.size(); ++at)
      expected[at] = bytes_[offset + at];
    EXPECT_EQ(read(file_, offset, expected.size()), expected) << "at " << offset;
  }
  void truncate() {
    const std::size_t size =
        below(2) == 0 ? bytes_.size() + below(5000) : bytes_.size() - below(bytes_.size() / 8 + 1);
    EXPECT_TRUE(file_.truncate(size));
    bytes_.resize(size);
  }

  DriverFile& file_;
  Bytes bytes_;
  std::mt19937 random_;
  std::uint64_t last_ = 0;
};

TEST_F(DriverFileTest, random_calls_match_a_model_and_leave_its_bytes) {
  const std::array<DriverOptions, 4> variants{
      kSmall, DriverOptions{}, DriverOptions{.read_budget_bytes = 0},
      DriverOptions{.is_page_cache_first = false, .write_budget_bytes = 0}};
  for (unsigned seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    create(seed % 2 == 0 ? 0 : 900'000);
    const auto file = open(O_RDWR, variants.at(seed % 4));
    Model model(*file, content(), seed);
    for (int step = 0; step < 150; ++step)
      model.step();
    EXPECT_EQ(file->end(), model.bytes().size());
    EXPECT_TRUE(file->close());
    EXPECT_EQ(content(), model.bytes());
    if (HasFailure()) return;
  }
}

TEST_F(DriverFileTest, read_past_the_end_returns_zeros) {
  create(4_MiB);
  const auto file = open(O_RDONLY);
  for (std::uint64_t at = 0; at < 4_MiB; at += 64_KiB)
    EXPECT_EQ(read(*file, at, 100), Bytes(100, std::byte{7}));
  EXPECT_EQ(read(*file, 4_MiB - 10, 20)[15], std::byte{0});
}

TEST_F(DriverFileTest, unlocked_file_that_changes_returns_new_bytes) {
  create(4_MiB);
  const auto file = open(O_RDONLY);
  for (std::uint64_t at = 0; at < 1_MiB; at += 64_KiB)
    read(*file, at, 100);
  overwrite(0, 1_MiB, std::byte{9});
  EXPECT_EQ(read(*file, 0, 100), Bytes(100, std::byte{9}));
  overwrite(0, 1_MiB, std::byte{5});
  EXPECT_EQ(read(*file, 64_KiB, 100), Bytes(100, std::byte{5}));
}

TEST_F(DriverFileTest, writes_after_the_swmr_superblock_are_visible_at_once) {
  const auto file = open(O_RDWR | O_CREAT);
  EXPECT_TRUE(write(*file, 100, 50, std::byte{1}));
  Bytes superblock(48);
  std::memcpy(superblock.data(), "\x89HDF\r\n\x1a\n\x03\x08\x08\x04", 12);
  EXPECT_TRUE(file->write(0, superblock));
  EXPECT_EQ(content().size(), 150U);
  EXPECT_TRUE(write(*file, 150, 50, std::byte{2}));
  EXPECT_EQ(content().size(), 200U);
}

TEST_F(DriverFileTest, unlock_and_shared_descriptor_write_pending_bytes) {
  for (const bool is_unlock : {true, false}) {
    const auto file = open(O_RDWR | O_CREAT | O_TRUNC);
    EXPECT_TRUE(file->lock(LockKind::kExclusive));
    EXPECT_TRUE(write(*file, 0, 50, std::byte{1}));
    if (is_unlock)
      EXPECT_TRUE(file->unlock());
    else
      EXPECT_EQ(::lseek(*must(file->share_descriptor()), 0, SEEK_END), 50);
    EXPECT_EQ(content().size(), 50U);
  }
}

TEST_F(DriverFileTest, second_exclusive_lock_is_refused) {
  const auto file = open(O_RDWR | O_CREAT);
  const auto other = open(O_RDONLY);
  EXPECT_TRUE(file->lock(LockKind::kExclusive));
  const Status refused = other->lock(LockKind::kShared);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error_number(), EWOULDBLOCK);
}

TEST_F(DriverFileTest, removed_or_replaced_name_keeps_the_open_file) {
  create(1_MiB);
  const auto file = open(O_RDWR);
  std::filesystem::rename(path(), path("kept.h5"));
  create(1_MiB);
  overwrite(0, 1_MiB, std::byte{3});
  EXPECT_EQ(read(*file, 0, 10), Bytes(10, std::byte{7}));
  EXPECT_TRUE(write(*file, 0, 10, std::byte{4}));
  EXPECT_EQ(read(*file, 0, 10), Bytes(10, std::byte{4}));
  EXPECT_TRUE(file->close());
  EXPECT_EQ(content()[0], std::byte{3});
}

TEST_F(DriverFileTest, child_of_fork_reads_pending_bytes_and_writes) {
  const auto file = open(O_RDWR | O_CREAT);
  EXPECT_TRUE(write(*file, 0, 1000, std::byte{1}));
  const pid_t child = ::fork();
  if (child == 0) {
    Bytes found(1000);
    const bool is_read = file->read(0, found) && found == Bytes(1000, std::byte{1});
    const bool is_written = write(*file, 1000, 10, std::byte{2}) && file->flush();
    ::_exit(is_read && is_written ? 0 : 1);
  }
  int code = -1;
  ASSERT_EQ(::waitpid(child, &code, 0), child);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(read(*file, 1000, 10), Bytes(10, std::byte{2}));
  EXPECT_TRUE(write(*file, 1010, 10, std::byte{3}));
  EXPECT_TRUE(file->close());
  EXPECT_EQ(content().size(), 1020U);
}

// A limit of the file size refuses writes as a full disk does.
// Each open, first write and first large read needs the Runtime while the file is locked.
TEST_F(DriverFileTest, fork_beside_a_thread_that_opens_writes_and_reads_ends) {
  ::alarm(60);  // a deadlock ends the test program
  std::atomic<bool> is_stopped = false;
  std::atomic<int> rounds = 0;
  std::thread user([&] {
    for (; !is_stopped; ++rounds) {
      create(1_MiB);
      const auto file = open(O_RDWR);
      EXPECT_TRUE(write(*file, 0, 64_KiB, std::byte{1}));
      read(*file, 512_KiB, 64_KiB);
    }
  });
  for (int i = 0; i < 40; ++i) {
    while (rounds < i)
      std::this_thread::yield();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  }
  is_stopped = true;
  user.join();
  ::alarm(0);
}

TEST_F(DriverFileTest, refused_write_fails_flush_and_all_later_calls) {
  const auto restore = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit limit = before;
  limit.rlim_cur = 256_KiB;
  const auto file = open(O_RDWR | O_CREAT);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  static_cast<void>(write(*file, 0, 500'000, std::byte{1}));
  const Status flushed = file->flush();
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, restore);
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().error_number(), EFBIG);
  EXPECT_EQ(flushed.error().path(), path());
  Bytes into(10);
  EXPECT_FALSE(file->read(0, into));
  EXPECT_FALSE(write(*file, 0, 10, std::byte{1}));
  EXPECT_FALSE(file->close());
}

TEST_F(DriverFileTest, open_fails_with_the_cause) {
  const auto missing = DriverFile::open({path(), O_RDONLY}, kSmall);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().error_number(), ENOENT);
  create(1);
  const auto existing = DriverFile::open({path(), O_RDWR | O_CREAT | O_EXCL}, kSmall);
  ASSERT_FALSE(existing);
  EXPECT_EQ(existing.error().error_number(), EEXIST);
}

TEST(DriverOptionsTest, settings_are_sizes_and_unknown_ones_are_named) {
  const DriverOptions parsed = must(parse_driver_options("read_budget=1MiB,write_budget=0"));
  EXPECT_EQ(parsed.read_budget_bytes, 1_MiB);
  EXPECT_EQ(parsed.write_budget_bytes, 0U);
  EXPECT_EQ(must(parse_driver_options("")).read_budget_bytes, 32_MiB);
  for (const char* text : {"budget=1MiB", "read_budget", "read_budget=many", "read_budget=1MiB;"}) {
    const auto refused = parse_driver_options(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().message().find(std::string(text).substr(0, 8)), std::string::npos);
  }
}

}  // namespace
}  // namespace forebay::hdf5
