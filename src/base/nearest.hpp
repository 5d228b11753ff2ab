// SPDX-License-Identifier: Apache-2.0
// What somebody probably meant who wrote a word that nobody knows: settings and machine files offer
// it in their errors.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forebay {

/// The word of `known` that takes the fewest changes of a letter to become `word`, the first of
/// several; empty if there are none.
std::string nearest_word(std::string_view word, std::span<const std::string> known);

}  // namespace forebay
