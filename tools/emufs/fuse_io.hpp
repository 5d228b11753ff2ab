// SPDX-License-Identifier: Apache-2.0
// Messages to and from the kernel for what libfuse 3.14 does not support: replies pass through
// here, which adds flags that libfuse does not name.
#pragma once

#define FUSE_USE_VERSION 312
#include <cstdint>

#include <fuse_lowlevel.h>

namespace forebay::emufs {

/// Flags to add to the next reply that this thread sends.
enum class ReplyFlags : std::uint8_t {
  kNone,
  /// Reply to FUSE_INIT. The server clears set-user-id bits on writes; else the kernel requests an
  /// attribute before each write. Shared mappings work on files without a page cache.
  kInit,
  /// Reply to an open: several writes to the file may be in progress at a time.
  kParallelWrites,
};

void set_next_reply_flags(ReplyFlags reply_flags) noexcept;

/// Makes the kernel behind a FUSE device use a file size of at least `bytes`. No page of the file
/// changes. Waits for the last page if it is being read or written.
void notify_kernel_size(int device, std::uint64_t node, std::uint64_t bytes);

/// For fuse_session_custom_io().
const fuse_custom_io& fuse_io() noexcept;

}  // namespace forebay::emufs
