// SPDX-License-Identifier: Apache-2.0
// Messages to and from the kernel, where libfuse 3.14 cannot say what the kernel understands: its
// replies pass here and get the flags that it has no name for.
#pragma once

#define FUSE_USE_VERSION 312
#include <cstdint>

#include <fuse_lowlevel.h>

namespace forebay::emufs {

/// What the next reply that this thread sends needs besides.
enum class Addition : std::uint8_t {
  kNone,
  /// To the greeting: we take care of set-user-id bits on writes ourselves (else the kernel asks
  /// for an attribute before each write), and shared mappings work on files without a page cache.
  kGreeting,
  /// To an opened file: several writes to it may be under way at a time.
  kParallelWrites,
};

void add_to_next_reply(Addition addition) noexcept;

/// The kernel behind a device of FUSE has a file at least as long as this from now on. No page of
/// the file changes; waits for the last one if it is being read or written.
void announce_size(int device, std::uint64_t node, std::uint64_t bytes);

/// For fuse_session_custom_io().
const fuse_custom_io& wire() noexcept;

}  // namespace forebay::emufs
