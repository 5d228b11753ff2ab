// SPDX-License-Identifier: Apache-2.0
// The datasets that a Runtime writes: what it knows of storage that a plan is made from, and their
// common end.
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

/// Any thread; open() is collective.
class Datasets {
 public:
  Result<std::shared_ptr<write::DatasetCore>> open(comm::Communicator& ranks,
                                                   const write::OpenRequest& request);

  /// Ends all: waits for what was committed, and for the other ranks while they need this one.
  void end() noexcept;

 private:
  void end_former(const std::string& path);

  std::mutex mutex_;
  std::vector<std::shared_ptr<write::DatasetCore>> open_;
};

}  // namespace forebay
