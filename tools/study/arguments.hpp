// SPDX-License-Identifier: Apache-2.0
// What forebay-study is asked: its command line as a value.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

#include "tools/study/document.hpp"

namespace forebay::study {

extern const char* const kUsage;

/// Ranks that a study may have: more take minutes.
inline constexpr std::uint32_t kRanksMost = 1024;
/// What a rank may put in a step; with all ranks it is played part by part.
inline constexpr std::uint64_t kBytesPerRankMost = 1_GiB;

/// The question of `checkpoint` and its options, after the program's name. What is left out has the
/// default of kUsage. kInvalidArgument: an unknown word, or a value that is not allowed.
Result<Question> parse_checkpoint(const std::vector<std::string>& words);

}  // namespace forebay::study
