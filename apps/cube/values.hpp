// SPDX-License-Identifier: Apache-2.0
// The values of one metric as JSON, for other programs, as stored in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cube/describe.hpp"

namespace forebay::cube {

struct ValuesOptions {
  std::string path;
  std::string metric;                                 ///< unique name
  std::optional<std::uint32_t> cnode = std::nullopt;  ///< id of one call path; absent: all
};

/// A value is a number, or a list of numbers if its type has several; a number that is not finite
/// is null. Call paths without a row have zeros. Memory grows with the number of values. Fails with
/// kNotFound for an unknown metric or call path, and with kUnsupported for a derived metric.
Result<Json> read_values(const ValuesOptions& options);

}  // namespace forebay::cube
