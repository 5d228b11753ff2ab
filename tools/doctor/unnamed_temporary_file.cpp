// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/unnamed_temporary_file.hpp"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

namespace forebay::doctor {

UnnamedTemporaryFile::UnnamedTemporaryFile(const std::filesystem::path& directory) {
  std::string name = (std::filesystem::absolute(directory) / ".forebay-doctor-XXXXXX").string();
  file_ = Descriptor(mkostemp(name.data(), O_CLOEXEC));
  error_number_ = file_ ? 0 : errno;
  if (file_) unlink(name.c_str());
}

std::string UnnamedTemporaryFile::path() const {
  return "/proc/self/fd/" + std::to_string(file_.get());
}

}  // namespace forebay::doctor
