// SPDX-License-Identifier: Apache-2.0
// DecodeContext: Errors of the decoders of this module: one sentence, a path and an offset.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>

namespace forebay::format {

/// The record that is decoded, and its place in a file.
struct DecodeContext {
  std::string what;  ///< "index", as in "read index of"
  std::string path;
  std::uint64_t offset = 0;

  /// `at` counts from the start of the decoded record.
  tl::unexpected<Error> damage_error(std::uint64_t at, std::string cause) const {
    return make_error(ErrorClass::kDamage, at, std::move(cause));
  }
  tl::unexpected<Error> make_error(ErrorClass kind, std::uint64_t at, std::string cause) const {
    return failure({.kind = kind,
                    .operation = "read " + what + " of",
                    .path = path,
                    .offset_bytes = offset + at,
                    .cause = std::move(cause)});
  }
  /// For a record whose version `major` is higher than that of this program.
  tl::unexpected<Error> version_error(std::uint16_t major) const {
    return make_error(ErrorClass::kUnsupported, 8,
                      "it has major version " + std::to_string(major) +
                          ", and this program reads version 1; use a newer program");
  }
};

}  // namespace forebay::format
