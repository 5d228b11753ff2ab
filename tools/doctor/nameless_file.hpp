// SPDX-License-Identifier: Apache-2.0
// A file in a folder that has lost its name at once, so that nothing stays of it even if we are
// killed: what the doctor tries things on, and measures.
#pragma once

#include <filesystem>
#include <string>

#include "base/descriptor.hpp"

namespace forebay::doctor {

/// Empty when it is made.
class NamelessFile {
 public:
  explicit NamelessFile(const std::filesystem::path& folder);

  /// A path under /proc that opens it again and again, as long as this lives.
  std::string path() const;
  /// Why it could not be made; 0 if it was.
  int error_number() const noexcept { return error_number_; }

 private:
  Descriptor file_;
  int error_number_ = 0;
};

}  // namespace forebay::doctor
