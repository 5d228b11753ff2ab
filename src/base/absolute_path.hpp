// SPDX-License-Identifier: Apache-2.0
// absolute_path(): a path that stays the same after chdir().
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace forebay {

/// Returns `path` unchanged if the current directory is unknown.
inline std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error);
  return error ? path : whole.string();
}

}  // namespace forebay
