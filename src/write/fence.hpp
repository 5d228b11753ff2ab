// SPDX-License-Identifier: Apache-2.0
// Keeps out a writer that was taken for dead and goes on after all: it may have been stopped
// between any two of its instructions, so no question it asks before it writes is asked late
// enough.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include "storage/file.hpp"

namespace forebay::write {

/// Puts a copy of `commits` in its place, durably. Whoever had the former file open writes into one
/// that nobody reads, which it sees when it looks afterwards whether the file of that name is still
/// its own; all that it has seen to be in place before is in the copy. Nothing to do where there is
/// no such file. For who has the lease, before it reads. Blocks. On failure what was there is in
/// force, and others may be kept out or not.
Status fence_commits(const std::string& folder);

/// Returns true if fence_commits() on another client has replaced the file that `commits` has open:
/// its write bits are cleared. For NFS, whose clients may cache the old name. One request to the
/// server; always false on local file systems, where comparing the name is enough, and for files
/// that belong to another user than the new writer.
bool is_fenced(const storage::File& commits);

}  // namespace forebay::write
