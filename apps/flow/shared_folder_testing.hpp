// SPDX-License-Identifier: Apache-2.0
// A folder that all ranks of a team know, in whichever processes they are. For tests only.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "command/testing.hpp"
#include "flow/team.hpp"

namespace forebay::flow::testing {

/// Made by rank 0, and removed by it when all are at the end. Both are collective.
class SharedFolder {
 public:
  explicit SharedFolder(Team& team) : team_(team) {
    std::array<char, 256> mine{};
    if (team.rank() == 0) {
      folder_.emplace();
      const std::string path = folder_->file("");
      std::copy_n(path.begin(), std::min(path.size(), mine.size() - 1), mine.begin());
    }
    path_ = team.gather(mine).front().data();
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  ~SharedFolder() { team_.gather(0); }

  std::string file(const std::string& name) const { return path_ + name; }

 private:
  Team& team_;
  std::optional<command::testing::TempFolder> folder_;
  std::string path_;
};

}  // namespace forebay::flow::testing
