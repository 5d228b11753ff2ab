// SPDX-License-Identifier: Apache-2.0
// Fencing: excludes a former holder that was presumed dead and resumes. A paused holder can resume
// at any instruction, so no check before a write is sufficient.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include "storage/file.hpp"

namespace forebay::write {

/// Replaces `commits` by a copy, durably. A former holder that has the old file open then writes
/// into a file that nothing reads. It detects this after the write, when it compares the file of
/// that name with its own. Everything that it has verified in this way before is in the copy. Does
/// nothing if there is no such file. The caller must hold the lease, and must read `commits` only
/// afterwards. Blocks. On failure the previous content is in force, and other holders may be
/// excluded or not.
Status fence_writers(const std::string& directory);

/// Returns true if fence_writers() on another client has replaced the file that `commits` has open:
/// its write bits are cleared. For NFS, whose clients may cache the old name. Sends one request to
/// the server. Always false on local file systems, where comparing the name is sufficient, and for
/// files that belong to another user than the new holder.
bool is_fenced(const storage::File& commits);

}  // namespace forebay::write
