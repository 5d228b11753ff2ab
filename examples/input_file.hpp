// SPDX-License-Identifier: Apache-2.0
// The input of the examples: a small file in a temporary directory, removed afterwards. Programs
// with files of their own do not need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace examples {

/// 0, 1, 2, ... : in a file of these, number i is at byte 8 * i.
inline std::vector<std::uint64_t> numbers(std::size_t count) {
  std::vector<std::uint64_t> result(count);
  std::iota(result.begin(), result.end(), std::uint64_t{0});
  return result;
}

/// The sum of such numbers.
inline std::uint64_t sum_of(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    sum += number;
  }
  return sum;
}

/// A file with this content. The destructor removes it and its directory.
class InputFile {
 public:
  template <std::ranges::contiguous_range Content>
  explicit InputFile(const Content& content)
      : directory_(std::filesystem::temp_directory_path() / "forebay-example-XXXXXX") {
    std::string name = directory_.string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    directory_ = name;
    const auto bytes = std::as_bytes(std::span(content));
    std::ofstream file(path(), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + path());
  }
  ~InputFile() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::string path() const { return directory_ / "input"; }

 private:
  std::filesystem::path directory_;
};

}  // namespace examples
