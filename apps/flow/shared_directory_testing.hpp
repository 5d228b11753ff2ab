// SPDX-License-Identifier: Apache-2.0
// A temporary directory shared by all ranks of a communicator, also across processes. For tests
// only.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "command/testing.hpp"
#include "flow/solver_comm.hpp"

namespace forebay::flow::testing {

/// Rank 0 creates the directory, and removes it when all ranks are done. Constructor and destructor
/// are collective.
class SharedDirectory {
 public:
  explicit SharedDirectory(SolverComm& comm) : comm_(comm) {
    std::array<char, 256> local{};
    if (comm.rank() == 0) {
      directory_.emplace();
      const std::string path = directory_->file("");
      std::copy_n(path.begin(), std::min(path.size(), local.size() - 1), local.begin());
    }
    path_ = comm.allgather(local).front().data();
  }
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;
  ~SharedDirectory() { comm_.allgather(0); }

  std::string file(const std::string& name) const { return path_ + name; }

 private:
  SolverComm& comm_;
  std::optional<command::testing::TempDirectory> directory_;
  std::string path_;
};

}  // namespace forebay::flow::testing
