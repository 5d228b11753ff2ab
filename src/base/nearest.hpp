// SPDX-License-Identifier: Apache-2.0
// nearest_word(): the known word closest to an unknown one. Errors of settings and machine files
// suggest it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forebay {

/// The word of `known` with the smallest edit distance to `word`, the first of several. Empty if
/// `known` is.
std::string nearest_word(std::string_view word, std::span<const std::string> known);

}  // namespace forebay
