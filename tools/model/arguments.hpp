// SPDX-License-Identifier: Apache-2.0
// What forebay-model is asked: its command line as a value.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

#include "tools/model/gain_document.hpp"

namespace forebay::model_tool {

extern const char* const kUsage;

/// The question of `gain` and its options, after the program's name. kInvalidArgument: an unknown
/// word, or a value that is no number. Whether numbers make sense is for the model to say.
Result<GainQuestion> parse_gain(const std::vector<std::string>& words);

}  // namespace forebay::model_tool
