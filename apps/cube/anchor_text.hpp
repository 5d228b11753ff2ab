// SPDX-License-Identifier: Apache-2.0
// What is done to anchor.xml as text, before and besides parsing it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace forebay::cube {

/// CubeLib writes some attributes of derived metrics without quotes, which is no XML: this is
/// `text` with them.
std::string with_quotes(std::string text);

/// A description without what is long in it: in place of each group of locations stands
/// <locationgroup n="its number"/>.
struct FoldedText {
  std::string text;
  std::vector<std::string_view> groups;  ///< what was there, in the text that was folded
};

/// Folds groups, so that a document of it is small: there may be a quarter of a million locations.
/// Groups are told by their tags alone; where that is wrong, one of the parts is no XML.
FoldedText fold_groups(std::string_view text);

/// `text` as the content of an element.
std::string escaped(std::string_view text);
/// `text` as the value of an attribute, between double quotes.
std::string escaped_attribute(std::string_view text);

}  // namespace forebay::cube
