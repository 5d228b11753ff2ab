// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes and keywords of machine files as text, for writing machines and for errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/machine.hpp"

namespace forebay::model {

/// The shortest text that is read back exactly.
std::string number_text(double number);
/// "1 MiB" if exact, else the number of bytes.
std::string size_text(std::uint64_t bytes);
/// A TOML string.
std::string toml_string(std::string_view text);
std::string_view name_of(NameSpread spread) noexcept;
/// "none", "stripe", "object", "file"; "bytes" for kBytes, whose size must be given as well.
std::string_view name_of(LockUnit unit) noexcept;

}  // namespace forebay::model
