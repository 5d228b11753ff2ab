// SPDX-License-Identifier: Apache-2.0
// Requests to the models as JSON objects: values with their type, and errors that name the key.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include <nlohmann/json.hpp>

namespace forebay::model_tool {

inline constexpr double kUsPerS = 1e6;

inline Error invalid_request(const std::string& cause) {
  return Error(
      {.kind = ErrorClass::kInvalidArgument, .operation = "read the request", .cause = cause});
}

/// The value of `key`, `fallback` if it is left out. Throws an nlohmann exception, which names the
/// key, if its type is another.
template <class T>
T value_of(const nlohmann::json& request, const char* key, T fallback) {
  const auto found = request.find(key);
  return found == request.end() ? fallback : found->get<T>();
}

}  // namespace forebay::model_tool
