// SPDX-License-Identifier: Apache-2.0
// What programs ask of the emulation through extended attributes of the mount's root: statistics as
// JSON, and commands (reset, faults) as JSON. Names come without "user.emufs.".
#pragma once

#include <string>
#include <string_view>

#include "tools/emufs/inodes.hpp"

namespace forebay::emufs {

struct FileSystem;

/// Rows in one answer: an attribute's value is bounded by the kernel, machines are not.
inline constexpr std::uint32_t kRowsInAnswer = 100;

/// "stat", "stat.servers.N", "stat.metadata.N", "stat.clients.N", "faults". ENODATA for others.
Outcome<std::string> control_value(FileSystem& file_system, std::string_view name);

/// "reset" (any value) or "fault" (a JSON object, docs/guides/emufs.md). The errno, or 0: EINVAL
/// where the words mean nothing, ENOENT for a path that is not there.
int control(FileSystem& file_system, std::string_view name, std::string_view value);

}  // namespace forebay::emufs
