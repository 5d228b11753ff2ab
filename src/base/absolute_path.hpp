// SPDX-License-Identifier: Apache-2.0
// Paths that stay the same when the program goes to another folder.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace forebay {

/// As it is if it cannot be known where the program is.
inline std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error);
  return error ? path : whole.string();
}

}  // namespace forebay
