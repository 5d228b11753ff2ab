// SPDX-License-Identifier: Apache-2.0
// Classes of a stream of accesses in five dimensions (docs/formats/signature.md#classes), after
// Byna, Chen, Sun, Thakur, Gropp: Parallel I/O Prefetching Using MPI File Caching and I/O
// Signatures, SC'08.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trace/signature.hpp"

namespace forebay::trace {

/// "Most" means at least 90 %. Loops whose variable changes no offset are not counted. The accesses
/// of loops around a list are in no loop here.
enum class SpatialPattern : std::uint8_t {
  kContiguous,      ///< most accesses begin where the one before them ends
  kFixedStride,     ///< most are in single loops around one access, with a step of at least 0
  kMultiStride,     ///< most are in k >= 2 loops around one access, with constant counts
  kNegativeStride,  ///< most are in loops around one access whose innermost step is negative
  kNested,          ///< most are in other loops: several items, or counts that change
  kVariable,        ///< most are in no loop, and most of them are not before the preceding access
  kRandom,          ///< most are in no loop, and the offsets are in no order
  kMixed,           ///< no other pattern has most accesses
};

enum class SizeVariation : std::uint8_t {
  kFixed,     ///< all sizes are equal
  kVariable,  ///< some differ
};

enum class SizeClass : std::uint8_t {
  kSmall,   ///< the mean is below 64 KiB
  kMedium,  ///< the mean is at least 64 KiB and below 1 MiB
  kLarge,   ///< the mean is at least 1 MiB
};

enum class Repetition : std::uint8_t {
  kSingle,     ///< less than 10 % of the accesses begin at the offset of an earlier one
  kRepeating,  ///< at least 10 % do
};

/// The first that applies.
enum class IntervalPattern : std::uint8_t {
  kUnknown,   ///< fewer than 3 accesses, or all have the same time
  kBursty,    ///< intervals of more than 4 medians take at least half of the time
  kFixed,     ///< most intervals are within 10 % of the median
  kDrifting,  ///< most are within 10 % of a line, fitted by least squares
  kRandom,    ///< all others
};

enum class OperationClass : std::uint8_t { kRead, kWrite, kBoth };

struct AccessClass {
  SpatialPattern spatial = SpatialPattern::kRandom;
  std::size_t dimensions = 0;  ///< k of kMultiStride; otherwise 0
  SizeVariation size_variation = SizeVariation::kFixed;
  SizeClass size = SizeClass::kSmall;
  Repetition repetition = Repetition::kSingle;
  std::size_t reuse_distance = 0;  ///< of kRepeating: median number of accesses since the last use
  IntervalPattern interval = IntervalPattern::kUnknown;
  OperationClass operation = OperationClass::kRead;  ///< kBoth is set by callers that join streams

  friend bool operator==(const AccessClass&, const AccessClass&) = default;
};

/// Classes of `accesses`, of which `signature` is the signature: see signature_of(). Only the
/// spatial pattern depends on its items. Without items, it is kContiguous, kVariable or kRandom.
AccessClass classify(std::span<const Access> accesses, const Signature& signature);

/// "2-d stride; fixed small requests; repeating after 200 accesses; fixed interval; read".
std::string to_text(const AccessClass& access_class);

}  // namespace forebay::trace
