// SPDX-License-Identifier: Apache-2.0
// Reports the progress of reading a dataset on standard error.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "command/progress.hpp"
#include "format/read_progress.hpp"

namespace forebay::dataset_tool {

/// A callback for operations with these passes; `passes` are their names for users.
inline format::ProgressCallback progress_lines(command::ProgressMode mode,
                                               std::vector<std::string> passes) {
  struct State {
    std::vector<std::string> passes;
    std::unique_ptr<command::Progress> lines = nullptr;
    format::ReadProgress last_reported = {};
  };
  const auto state = std::make_shared<State>(State{std::move(passes)});
  return [mode, state](const format::ReadProgress& now) {
    if (!state->lines || now.pass != state->last_reported.pass) {
      state->lines = std::make_unique<command::Progress>(
          mode, command::ProgressGoal{state->passes.at(now.pass), "bytes", now.total_bytes});
      state->last_reported = {.pass = now.pass};
    }
    state->lines->advance(now.done_bytes - state->last_reported.done_bytes);
    state->last_reported = now;
    return true;
  };
}

}  // namespace forebay::dataset_tool
