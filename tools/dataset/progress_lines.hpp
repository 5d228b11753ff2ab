// SPDX-License-Identifier: Apache-2.0
// Tells whoever called the program how far reading a dataset is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "command/progress.hpp"
#include "format/read_progress.hpp"

namespace forebay::dataset_tool {

/// For what may be told of `passes`, each named as people would.
inline format::OnProgress progress_lines(command::ProgressMode mode,
                                         std::vector<std::string> passes) {
  struct State {
    std::vector<std::string> passes;
    std::unique_ptr<command::Progress> lines = nullptr;
    format::ReadProgress told = {};
  };
  const auto state = std::make_shared<State>(State{std::move(passes)});
  return [mode, state](const format::ReadProgress& now) {
    if (!state->lines || now.pass != state->told.pass) {
      state->lines = std::make_unique<command::Progress>(
          mode, command::ProgressGoal{state->passes.at(now.pass), "bytes", now.all_bytes});
      state->told = {.pass = now.pass};
    }
    state->lines->advance(now.done_bytes - state->told.done_bytes);
    state->told = now;
    return true;
  };
}

}  // namespace forebay::dataset_tool
