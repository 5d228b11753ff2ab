// SPDX-License-Identifier: Apache-2.0
// ParametricSignature: a signature whose numbers contain names (docs/formats/hints.md#parameters),
// as the source of a program states it. Plain values; pure functions.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/signature.hpp"

namespace forebay::push {

inline constexpr std::size_t kParametersMax = 16;
inline constexpr std::size_t kParameterNameMax = 64;
inline constexpr std::size_t kProductsMax = 24;
inline constexpr std::size_t kParametricItemsMax = 64;

/// Indexes of parameters, ascending, each as often as it is a factor. Empty: 1.
using Product = std::vector<std::uint8_t>;

/// factor * product * variable of the loop at `depth`.
struct ParametricTerm {
  static constexpr std::uint8_t kNoVariable = trace::kLoopDepthMax;

  std::int64_t factor = 0;
  std::uint8_t product = 0;  ///< index in ParametricSignature::products
  std::uint8_t depth = kNoVariable;
};

/// A sum.
using ParametricNumber = std::vector<ParametricTerm>;

/// An access, or the begin or end of a loop.
struct ParametricNode {
  enum class Kind : std::uint8_t { kAccess, kLoop, kEnd };

  Kind kind = Kind::kAccess;
  ParametricNumber offset = {};
  ParametricNumber size = {};
  ParametricNumber count = {};  ///< of kLoop
  std::size_t partner = 0;      ///< index of the end of a loop; for an end, that of its loop
};

struct ParametricSignature {
  std::string text;
  std::vector<std::string> parameters;
  /// [0] is 1. The values of the others are the unknowns of the accesses.
  std::vector<Product> products;
  std::vector<ParametricNode> nodes;
};

/// Parses a signature of reads. Fails with kInvalidArgument; the Error names line, column, and what
/// is expected there, or the name that is invalid.
Result<ParametricSignature> parse_parametric_signature(std::string text,
                                                       std::vector<std::string> parameters);

}  // namespace forebay::push
