// SPDX-License-Identifier: Apache-2.0
// A checkpoint on machine files with many plans, as a JSON document for `forebay study`.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/config.hpp"
#include "tools/probe/messages.hpp"
#include "tools/study/checkpoint.hpp"

namespace forebay::study {

/// Maximum number of ranks in a study: more take minutes.
inline constexpr std::uint32_t kRanksMax = 1024;
/// Maximum bytes of a rank in a step: every part of every rank is simulated.
inline constexpr std::uint64_t kBytesPerRankMax = 1_GiB;

struct StudyRequest {
  Checkpoint checkpoint;
  std::vector<std::string> machines;  ///< names or files
  probe::ProgressSink progress = {};
};

/// {"ranks","bytes_per_rank","sizes","step_bytes","machines":[{"name","about","nodes","cells":
/// [cell…],"shared": cell}]}; a cell is {"strategy","writers","files","files_opened_s",
/// "handed_off_s","written_s","durable_s","mb_per_s"}. Fails if a machine cannot be read, and with
/// kInvalidArgument if the checkpoint exceeds its limits.
Result<nlohmann::json> describe(const StudyRequest& request,
                                const std::vector<std::filesystem::path>& directories);

}  // namespace forebay::study
