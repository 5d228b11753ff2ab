// SPDX-License-Identifier: Apache-2.0
#include "cube/byte_source.hpp"

namespace forebay::cube {

Error inside(const Error& error, const std::string& path, std::uint64_t base) {
  return Error({.kind = error.kind(),
                .operation = error.operation(),
                .path = path,
                .offset_bytes = base + error.offset_bytes().value_or(0),
                .error_number = error.error_number(),
                .cause = error.cause()});
}

}  // namespace forebay::cube
