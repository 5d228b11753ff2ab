// SPDX-License-Identifier: Apache-2.0
// Text of other origin in messages: a name of a file, or what another program wrote.
#pragma once

#include <string>
#include <string_view>

namespace forebay {

/// One line of valid UTF-8: a control character, and a byte that is no UTF-8, becomes an escape.
std::string printable(std::string_view text);

}  // namespace forebay
