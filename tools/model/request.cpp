// SPDX-License-Identifier: Apache-2.0
#include "tools/model/request.hpp"

#include <cerrno>
#include <fstream>

namespace forebay::model_tool {

Error invalid_request(const std::string& path, const std::string& cause) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "read request",
                .path = path,
                .cause = cause});
}

Result<nlohmann::json> read_request(const std::string& path) {
  std::ifstream file(path);
  if (!file) return failure(system_error({.operation = "open", .path = path}, errno));
  nlohmann::json request = nlohmann::json::parse(file, nullptr, false);
  if (!request.is_object())
    return failure(invalid_request(path, "it is not a JSON object: write {\"machine\": ...}"));
  return request;
}

}  // namespace forebay::model_tool
