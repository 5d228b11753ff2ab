// SPDX-License-Identifier: Apache-2.0
// Memory that has no name in any file system, so that nothing is left of it when its processes are
// gone, however they went. It may grow and never shrinks: whoever has mapped it and checked its
// size once cannot be killed by SIGBUS later.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>

#include "base/descriptor.hpp"

namespace forebay::shm {

/// What a holder of shared memory may do with it.
enum class Protection : std::uint8_t { kReadOnly, kReadWrite };

/// The protection of a mapping, as mmap takes it.
int mmap_protection(Protection protection) noexcept;

/// New memory of size 0, sealed against shrinking, closed on exec. `name` is what people see in
/// /proc. Fails with kLimit, kPermission or kUnsupported.
Result<Descriptor> create_memfd(const char* name);

/// Takes the memory of the bytes [first, last) now, so that what is missing is an Error here and
/// not a SIGBUS later. Grows the size to `last` where it is less. On failure some of the memory may
/// have been taken: see give_back_memory(). Fails with kNoSpace or kLimit.
Status take_memory(const Descriptor& memfd, std::uint64_t first, std::uint64_t last);

/// Frees the pages of [first, last) (multiples of the page size), which read as zeros from now on;
/// the size stays.
void give_back_memory(const Descriptor& memfd, std::uint64_t first, std::uint64_t last) noexcept;

/// Whether something received from another process can be relied on: kInvalidArgument if it is not
/// sealed against shrinking.
Status check_sealed(const Descriptor& memfd);
/// The same for a mapping of `size_bytes`, a number that may come from the other process, too:
/// kInvalidArgument if it is 0, kDamage if the memory has less.
Status check_memfd(const Descriptor& memfd, std::uint64_t size_bytes);

/// How much memory a memfd has, as its owner made it.
Result<std::uint64_t> memfd_bytes(const Descriptor& memfd);

/// A descriptor to pass to another process. With kReadOnly it cannot be mapped writable: that keeps
/// mistakes of the receiver out, not a hostile process of the same user.
Result<Descriptor> share_memfd(const Descriptor& memfd, Protection protection);

/// The granularity of mappings.
std::uint64_t page_bytes() noexcept;

}  // namespace forebay::shm
