// SPDX-License-Identifier: Apache-2.0
// Opens profiles by path. The code that reads profiles uses only RandomAccessFile; here are its two
// implementations on files.
#pragma once

#include <memory>
#include <string>

#include "cube/profile.hpp"
#include "cube/random_access_file.hpp"

namespace forebay::cube {

/// For few and scattered reads, such as headers, which readahead would not speed up.
Result<std::shared_ptr<const RandomAccessFile>> open_posix_file(const std::string& path);

/// For a pass over the complete file: a session of Forebay reads ahead, within its memory budget.
Result<std::shared_ptr<const RandomAccessFile>> open_session_file(const std::string& path);

/// Opens a profile of which few rows are read.
Result<Profile> open_profile(const std::string& path);

/// Opens a profile whose rows are all read, in file order, with readahead.
Result<Profile> open_profile_for_scan(const std::string& path);

}  // namespace forebay::cube
