// SPDX-License-Identifier: Apache-2.0
// Reads a small file completely, in pieces: files that are not regular have no size.
#include "base/text_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

namespace forebay {

Result<std::string> read_text_file(const std::string& path,
                                   std::string_view operation,
                                   std::size_t bytes_max) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "re"), close);
  const ErrorDetails where{.operation = std::string(operation), .path = path};
  if (!file) return failure(system_error(where, errno));
  std::string content;
  std::array<char, 4096> piece{};
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), file.get())) {
    content.append(piece.data(), got);
    if (content.size() > bytes_max) {
      return failure({.kind = ErrorClass::kInvalidArgument,
                      .operation = std::string(operation),
                      .path = path,
                      .cause = "longer than " + std::to_string(bytes_max >> 20U) +
                               " MiB; name a shorter file of this kind"});
    }
  }
  if (std::ferror(file.get()) != 0) return failure(system_error(where, errno));
  return content;
}

}  // namespace forebay
