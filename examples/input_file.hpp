// SPDX-License-Identifier: Apache-2.0
// What the examples read: a small file in a temporary folder of its own that is gone afterwards. A
// program of yours has files already and needs nothing of this.
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

/// 0, 1, 2, ... : in a file of these, number i lies at byte 8 * i.
inline std::vector<std::uint64_t> numbers(std::size_t count) {
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return all;
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

/// A file with this content; it and its folder are removed by the destructor.
class InputFile {
 public:
  template <std::ranges::contiguous_range Content>
  explicit InputFile(const Content& content)
      : folder_(std::filesystem::temp_directory_path() / "forebay-example-XXXXXX") {
    std::string name = folder_.string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    const auto bytes = std::as_bytes(std::span(content));
    std::ofstream file(path(), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + path());
  }
  ~InputFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::string path() const { return folder_ / "input"; }

 private:
  std::filesystem::path folder_;
};

}  // namespace examples
