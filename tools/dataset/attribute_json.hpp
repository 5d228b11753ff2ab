// SPDX-License-Identifier: Apache-2.0
// Attributes as JSON, for all commands of the dataset tool.
#pragma once

#include <forebay/attribute.hpp>

#include "command/command_result.hpp"
#include "format/attributes.hpp"

namespace forebay::dataset_tool {

/// `kind`, `type`, `shape`, `value`, and `text` for people. `value` is a text, a list of texts, or
/// a list of the numbers in C order, two for each complex number. A number that is not finite is
/// "nan", "inf" or "-inf".
command::Json to_json(const AttributeValue& value);

/// A list of these objects, each with its `name`.
command::Json attributes_json(const format::AttributeMap& attributes,
                              format::AttributeScope scope,
                              const std::string& field = {});

}  // namespace forebay::dataset_tool
