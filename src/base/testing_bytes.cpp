// SPDX-License-Identifier: Apache-2.0
#include "base/testing_bytes.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace forebay {

void fill_pattern(std::span<std::byte> bytes, std::uint64_t offset) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = pattern_at(offset + i);
}

std::size_t matching_pattern(std::span<const std::byte> bytes, std::uint64_t offset) {
  std::size_t i = 0;
  while (i < bytes.size() && bytes[i] == pattern_at(offset + i))
    ++i;
  return i;
}

std::vector<std::byte> pattern(std::uint64_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  fill_pattern(bytes, 0);
  return bytes;
}

std::vector<std::byte> content_of(const std::string& path) {
  std::error_code unknown;
  const auto size_bytes = std::filesystem::file_size(path, unknown);
  if (unknown) return {};
  std::vector<std::byte> bytes(size_bytes);
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size_bytes));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return bytes;
}

}  // namespace forebay
