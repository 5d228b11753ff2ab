// SPDX-License-Identifier: Apache-2.0
// What is done to anchor.xml as text, before and besides parsing it.
#pragma once

#include <string>
#include <string_view>

namespace forebay::cube {

/// CubeLib writes some attributes of derived metrics without quotes, which is no XML: this is
/// `text` with them.
std::string with_quotes(std::string text);

/// `text` as the content of an element.
std::string escaped(std::string_view text);
/// `text` as the value of an attribute, between double quotes.
std::string escaped_attribute(std::string_view text);

}  // namespace forebay::cube
