// SPDX-License-Identifier: Apache-2.0
// Profiles by their paths. Apart from what reads them, which knows no files: the two ways to get at
// the bytes of one, and opening it with either.
#pragma once

#include <memory>
#include <string>

#include "cube/byte_source.hpp"
#include "cube/profile.hpp"

namespace forebay::cube {

/// For few and scattered reads, as of headers: nothing would be gained by reading ahead.
Result<std::shared_ptr<const ByteSource>> open_plain_source(const std::string& path);

/// For a pass over all of a file: a session of Forebay reads ahead meanwhile, within its memory.
Result<std::shared_ptr<const ByteSource>> open_session_source(const std::string& path);

/// Opens a profile for few rows.
Result<Profile> open_profile(const std::string& path);

/// Opens a profile whose rows will all be read, in the order of the file: they are read ahead.
Result<Profile> open_profile_to_read_all(const std::string& path);

}  // namespace forebay::cube
