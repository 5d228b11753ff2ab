// SPDX-License-Identifier: Apache-2.0
// The command line of forebay-model as a value.
#pragma once

#include "command/cli.hpp"
#include "tools/model/gain_document.hpp"

namespace forebay::model_tool {

/// Adds the options of `gain`. The model checks whether the numbers are valid.
void add_gain(CLI::App& app, GainQuery& query);

}  // namespace forebay::model_tool
