// SPDX-License-Identifier: Apache-2.0
// The values of one metric as JSON, for other programs: each number as it is in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cube/describe.hpp"

namespace forebay::cube {

struct ValuesOptions {
  std::string path;
  std::string metric;                                 ///< its unique name
  std::optional<std::uint32_t> cnode = std::nullopt;  ///< the id of one call path; else all
};

/// A value is a number, or a list of numbers if its type has several; one that is not finite is
/// null. Call paths without a row have zeros. Memory grows with what is asked for.
/// Fails with kNotFound for a metric or call path that is not there, kUnsupported for a derived
/// metric.
Result<Json> values_of(const ValuesOptions& options);

}  // namespace forebay::cube
