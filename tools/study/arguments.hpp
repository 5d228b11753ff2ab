// SPDX-License-Identifier: Apache-2.0
// The command line of forebay-study as a value.
#pragma once

#include <forebay/error.hpp>

#include "command/cli.hpp"
#include "tools/study/document.hpp"

namespace forebay::study {

/// Maximum number of ranks in a study: more take minutes.
inline constexpr std::uint32_t kRanksMax = 1024;
/// Maximum bytes of a rank in a step: every part of every rank is simulated.
inline constexpr std::uint64_t kBytesPerRankMax = 1_GiB;

/// Adds the options of `checkpoint`. By default, all strategies that can be simulated are.
void add_checkpoint(CLI::App& app, StudyRequest& request);

}  // namespace forebay::study
