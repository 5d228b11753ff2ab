// SPDX-License-Identifier: Apache-2.0
// A file in a directory without a name, which never remains, even after a kill. The doctor tests
// and measures on it.
#pragma once

#include <filesystem>
#include <string>

#include "base/descriptor.hpp"

namespace forebay::doctor {

/// Created empty.
class UnnamedTemporaryFile {
 public:
  explicit UnnamedTemporaryFile(const std::filesystem::path& directory);

  /// A path under /proc that opens the file again, as long as this object lives.
  std::string path() const;
  /// The errno of a failed creation; 0 on success.
  int error_number() const noexcept { return error_number_; }

 private:
  Descriptor file_;
  int error_number_ = 0;
};

}  // namespace forebay::doctor
