// SPDX-License-Identifier: Apache-2.0
// The command line of forebay-model as a value.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

#include "tools/model/gain_document.hpp"

namespace forebay::model_tool {

extern const char* const kUsage;

/// The query of `gain` and its options, after the program's name. kInvalidArgument: an unknown
/// word, or a value that is not a number. The model checks whether the numbers are valid.
Result<GainQuery> parse_gain(const std::vector<std::string>& words);

}  // namespace forebay::model_tool
