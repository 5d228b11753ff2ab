// SPDX-License-Identifier: Apache-2.0
// to_printable(): text of external origin in messages, such as a file name or output of another
// program.
#pragma once

#include <string>
#include <string_view>

namespace forebay {

/// One line of valid UTF-8. Control characters and bytes that are not UTF-8 become escapes.
std::string to_printable(std::string_view text);

}  // namespace forebay
