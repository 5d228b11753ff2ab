// SPDX-License-Identifier: Apache-2.0
// Operations on anchor.xml as text, without parsing it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace forebay::cube {

/// Returns `text` with quotes around attribute values of derived metrics. CubeLib writes some of
/// them without quotes, which is not XML.
std::string quote_attributes(std::string text);

/// A short description: an element <locationgroup n="i"/> replaces each group of locations; i is
/// its index in `groups`.
struct FoldedText {
  std::string text;
  std::vector<std::string_view> groups;  ///< the replaced parts, as views into the original text
};

/// Replaces groups of locations, so that the XML document is small: there may be 250,000 locations.
/// Finds groups by their tags alone; where that is wrong, one of the parts is not valid XML.
FoldedText fold_groups(std::string_view text);

/// Escapes `text` as content of an element.
std::string escape_xml(std::string_view text);
/// Escapes `text` as an attribute value in double quotes.
std::string escape_xml_attribute(std::string_view text);

}  // namespace forebay::cube
