// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes and words of machine files as text, for who writes machines and for what errors
// say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/machine.hpp"

namespace forebay::model {

/// As short as it can be read back exactly.
std::string text_of(double number);
/// "1 MiB" where that is exact, else the number of bytes.
std::string size_text(std::uint64_t bytes);
/// A TOML string.
std::string toml_string(std::string_view text);
std::string_view name_of(NameSpread spread) noexcept;
/// "none", "stripe", "file"; of kBytes, the size says more: "bytes".
std::string_view name_of(LockUnit unit) noexcept;

}  // namespace forebay::model
