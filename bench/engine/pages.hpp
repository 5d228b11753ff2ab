// SPDX-License-Identifier: Apache-2.0
// Removes the advantages of a stream's pool from its memory: prefaulted pages, and huge pages. This
// shows what a program saves by using the pool's buffers.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <span>

namespace forebay::bench::engine {

/// Returns the pages of `memory` to the system: the next write to each allocates it again, zeroed
/// and of base page size. free() and malloc() do that with blocks that are too long for the heap.
/// `memory` begins at a page boundary, is private, and is not in a transfer.
Status discard_pages(std::span<std::byte> memory);

/// The same, and allocates the new pages at once: the memory is resident as before, but zeroed and
/// in pages of base size.
Status split_huge_pages(std::span<std::byte> memory);

}  // namespace forebay::bench::engine
