// SPDX-License-Identifier: Apache-2.0
// How decoders of this module say what is wrong and where: one sentence, a path and an offset.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>

namespace forebay::format {

/// What is decoded, and where it lies in which file.
struct Source {
  std::string what;  ///< "index", as in "read index"
  std::string path;
  std::uint64_t offset = 0;

  /// `at` counts from the start of what is decoded.
  tl::unexpected<Error> damage(std::uint64_t at, std::string cause) const {
    return failed(ErrorClass::kDamage, at, std::move(cause));
  }
  tl::unexpected<Error> failed(ErrorClass kind, std::uint64_t at, std::string cause) const {
    return failure({.kind = kind,
                    .operation = "read " + what + " of",
                    .path = path,
                    .offset_bytes = offset + at,
                    .cause = std::move(cause)});
  }
  /// Its version is `major`, which is higher than ours.
  tl::unexpected<Error> newer(std::uint16_t major) const {
    return failed(ErrorClass::kUnsupported, 8,
                  "it has major version " + std::to_string(major) +
                      ", and this program knows 1: use a newer one");
  }
};

}  // namespace forebay::format
