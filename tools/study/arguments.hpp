// SPDX-License-Identifier: Apache-2.0
// The command line of forebay-study as a value.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

#include "tools/study/document.hpp"

namespace forebay::study {

extern const char* const kUsage;

/// Maximum number of ranks in a study: more take minutes.
inline constexpr std::uint32_t kRanksMax = 1024;
/// Maximum bytes of a rank in a step: every part of every rank is simulated.
inline constexpr std::uint64_t kBytesPerRankMax = 1_GiB;

/// The request of `checkpoint` and its options, after the program's name. Missing options have the
/// default of kUsage. kInvalidArgument: an unknown word, or a value that is not allowed.
Result<StudyRequest> parse_checkpoint(const std::vector<std::string>& words);

}  // namespace forebay::study
