// SPDX-License-Identifier: Apache-2.0
// The output of forebay-study: the cells of all requested machines.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/config.hpp"
#include "tools/probe/messages.hpp"
#include "tools/study/checkpoint.hpp"

namespace forebay::study {

struct StudyRequest {
  Checkpoint checkpoint;
  std::vector<std::string> machines;  ///< names or files
  probe::ProgressMode progress_mode = probe::ProgressMode::kSilent;
};

/// {"ranks","bytes_per_rank","sizes","step_bytes","machines":[{"name","about","nodes","cells":
/// [cell…],"shared": cell}]}; a cell is {"strategy","writers","files","files_opened_s",
/// "handed_off_s","written_s","durable_s","mb_per_s"}. Fails if a machine cannot be read.
Result<nlohmann::json> describe(const StudyRequest& request,
                                const std::vector<std::filesystem::path>& directories);

}  // namespace forebay::study
