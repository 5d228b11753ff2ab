// SPDX-License-Identifier: Apache-2.0
// The datasets that a Runtime writes, for its own application or for those of other ranks, and
// their common end.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "write/dataset_core.hpp"
#include "write/opening.hpp"

namespace forebay {

/// Any thread; open() and join() are collective.
class Datasets {
 public:
  Result<std::shared_ptr<write::DatasetCore>> open(const write::OpenRanks& ranks,
                                                   const write::OpenRequest& request);

  /// On a rank given to I/O: its part of what another rank opens. What fails is told there too.
  Status join(comm::Communicator& ranks,
              write::Decision decision,
              const write::OpenRequest& request);

  /// Returns when nobody needs the parts that were joined any more. Not while join() may be called.
  void wait_for_joined();

  /// Ends all: waits for what was committed, and for the other ranks while they need this one.
  void end() noexcept;

 private:
  struct Joined {
    std::string path;
    std::shared_ptr<write::Agent> agent;
  };
  void end_former(const std::string& path);
  void end_former(const write::Decision& decision);

  std::mutex mutex_;
  std::vector<std::shared_ptr<write::DatasetCore>> open_;
  std::vector<Joined> joined_;
};

}  // namespace forebay
