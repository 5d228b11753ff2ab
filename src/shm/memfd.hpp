// SPDX-License-Identifier: Apache-2.0
// memfd: shared memory without a name in any file system, so nothing remains when its processes
// end, for any reason. It may grow and never shrinks. So one check of its size excludes a SIGBUS
// for an access past its end. reserve_memory() excludes one for missing memory.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>

#include "base/descriptor.hpp"

namespace forebay::shm {

/// Permitted access to shared memory.
enum class Protection : std::uint8_t { kReadOnly, kReadWrite };

/// The protection of a mapping, for mmap().
int mmap_protection(Protection protection) noexcept;

/// New memory of size 0, sealed against shrinking, closed on exec. `name` is shown in /proc. Fails
/// with kLimit, kPermission or kUnsupported.
Result<Descriptor> create_memfd(const char* name);

/// Reserves the memory of the bytes [first, last) now, so that missing memory is an Error here and
/// not a SIGBUS later. Grows the size to `last` if it is less. On failure some of the memory may be
/// reserved: see release_memory(). Fails with kNoSpace or kLimit.
Status reserve_memory(const Descriptor& memfd, std::uint64_t first, std::uint64_t last);

/// Frees the pages of [first, last) (multiples of the page size), which read as zeros from then on;
/// the size does not change.
void release_memory(const Descriptor& memfd, std::uint64_t first, std::uint64_t last) noexcept;

/// Checks memory received from another process: kInvalidArgument if it is not sealed against
/// shrinking.
Status check_sealed(const Descriptor& memfd);
/// Calls check_sealed(), then checks `size_bytes`, the size to map. That number may come from the
/// other process: kInvalidArgument if it is 0, kDamage if the memory has fewer bytes.
Status check_memfd(const Descriptor& memfd, std::uint64_t size_bytes);

/// The current size of a memfd.
Result<std::uint64_t> memfd_bytes(const Descriptor& memfd);

/// A descriptor to pass to another process. With kReadOnly it cannot be mapped writable. That
/// protects against mistakes of the receiver, not against a hostile process of the same user.
Result<Descriptor> share_memfd(const Descriptor& memfd, Protection protection);

/// The granularity of mappings.
std::uint64_t page_bytes() noexcept;

}  // namespace forebay::shm
