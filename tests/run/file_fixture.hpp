// SPDX-License-Identifier: Apache-2.0
// FileTest: the fixture of the tests of `forebay run`, a file whose bytes are computed from their
// offsets.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace forebay::run_tests {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytes = 1 << 20;

/// The byte at an offset of the test's files.
inline char byte_at(std::uint64_t offset) {
  return static_cast<char>(offset * 31 + (offset >> 8U));
}

class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    std::string name = (fs::temp_directory_path() / "forebay-calls-XXXXXX").string();
    folder = ::mkdtemp(name.data());
    path = folder + "/file";
    write_file(path);
  }
  ~FileTest() override { fs::remove_all(folder); }
  FileTest(const FileTest&) = delete;
  FileTest& operator=(const FileTest&) = delete;

  static void write_file(const std::string& to, std::size_t bytes = kFileBytes) {
    std::vector<char> content(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      content[i] = byte_at(i);
    const int file = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(file, 0);
    ASSERT_EQ(::write(file, content.data(), bytes), static_cast<ssize_t>(bytes));
    ::close(file);
  }
  /// Whether these are the bytes at an offset.
  static bool is_right(const char* bytes, std::size_t size, std::uint64_t offset) {
    for (std::size_t i = 0; i < size; ++i) {
      if (bytes[i] != byte_at(offset + i)) return false;
    }
    return true;
  }
  /// Whether read() returns these bytes of the file. Allocates nothing.
  bool reads_right(int file, std::size_t size, std::uint64_t offset) {
    return ::read(file, buffer.data(), size) == static_cast<ssize_t>(size) &&
           is_right(buffer.data(), size, offset);
  }

  std::array<char, 10'000> buffer;
  std::string folder;
  std::string path;
};

}  // namespace forebay::run_tests
