// SPDX-License-Identifier: Apache-2.0
// DatasetWriters: the datasets that a Runtime writes, for its own application or for other ranks,
// and their shutdown.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "write/dataset_writer_core.hpp"
#include "write/open_dataset.hpp"

namespace forebay {

/// Thread-safe; open() and join() are collective.
class DatasetWriters {
 public:
  Result<std::shared_ptr<write::DatasetWriterCore>> open(const write::JobCommunicators& ranks,
                                                         write::OpenRequest request);

  /// On an I/O rank: joins a dataset that compute ranks open. A failure is reported to them as
  /// well.
  Status join(comm::Communicator& ranks, write::Decision decision, write::OpenRequest request);

  /// Waits until no rank needs the joined datasets any more. Not concurrently with join().
  void wait_for_served();

  /// Ends all datasets: waits for committed steps, and for other ranks while they need this one.
  void stop() noexcept;

 private:
  struct ServedDataset {
    std::string path;
    std::shared_ptr<write::DatasetAgent> agent;
  };
  void end_previous(const std::string& path);
  void end_previous(const write::Decision& decision);

  std::mutex mutex_;
  std::vector<std::shared_ptr<write::DatasetWriterCore>> open_;
  std::vector<ServedDataset> served_;
};

}  // namespace forebay
