// SPDX-License-Identifier: Apache-2.0
// result_of(), whose value the corpus of traces has in its file names.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace forebay::trace {

/// "ok", "ends" for a trace that ends inside a block, or "broken". Checks the contracts of the
/// reader.
std::string_view result_of(std::span<const std::byte> bytes);

}  // namespace forebay::trace
