// SPDX-License-Identifier: Apache-2.0
// Control of the emulation by extended attributes of the mount's root: statistics, reset and
// faults, as JSON. Names are without "user.emufs.".
#pragma once

#include <string>
#include <string_view>

#include "tools/emufs/inodes.hpp"

namespace forebay::emufs {

struct EmulatedFileSystem;

/// Rows in one reply: the kernel bounds the size of an attribute, while machines are not bounded.
inline constexpr std::uint32_t kRowsPerReplyMax = 100;

/// The value of "stat", "stat.servers.N", "stat.metadata.N", "stat.clients.N" or "faults". ENODATA
/// for other names.
ErrnoResult<std::string> control_value(EmulatedFileSystem& file_system, std::string_view name);

/// Executes "reset" (any value) or "fault" (a JSON object, docs/guides/emufs.md). Returns the
/// errno, or 0: EINVAL for a wrong value, ENOENT for a path that does not exist.
int control(EmulatedFileSystem& file_system, std::string_view name, std::string_view value);

}  // namespace forebay::emufs
