// SPDX-License-Identifier: Apache-2.0
// Taking from memory what the pool of a stream has given it: pages that are there before they are
// used, and huge ones. It shows what a program is spared that leaves its buffers to the pool.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <span>

namespace forebay::bench::engine {

/// Gives the pages of `memory` back to the system: the next one who writes there gets each of them
/// anew, zeroed and of the usual size. free() and malloc() do that with blocks that are too long
/// for the heap. `memory` begins with a page, is private, and nobody transfers it.
Status renew_pages(std::span<std::byte> memory);

/// The same, and has the new pages at once: the memory is as it was, but in pages of the usual
/// size, and zero.
Status split_huge_pages(std::span<std::byte> memory);

}  // namespace forebay::bench::engine
