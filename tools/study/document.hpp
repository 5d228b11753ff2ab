// SPDX-License-Identifier: Apache-2.0
// What forebay-study prints: the cells of all machines that were asked for.
#pragma once

#include <forebay/config.hpp>
#include <forebay/error.hpp>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/probe/messages.hpp"
#include "tools/study/checkpoint.hpp"

namespace forebay::study {

struct Question {
  Checkpoint checkpoint;
  std::vector<std::string> machines;  ///< names or files
  probe::Telling telling = probe::Telling::kSilent;
};

/// {"ranks","bytes_per_rank","sizes","step_bytes","machines":[{"name","about","nodes","cells":
/// [cell…],"shared": cell}]}; a cell is {"strategy","writers","files","named_s","handed_s",
/// "written_s","durable_s","mb_per_s"}. Fails if a machine cannot be read.
Result<nlohmann::json> describe(const Question& question,
                                const std::vector<std::filesystem::path>& folders);

}  // namespace forebay::study
