// SPDX-License-Identifier: Apache-2.0
// CollectiveIoThread: the thread that makes the collective MPI-IO calls of one rank. These calls
// block until all ranks have made them, and cannot be canceled. So no agent makes them. They begin
// only after every rank of the file has reported to the file owner that it is ready.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.hpp"
#include "write/dense_rounds.hpp"

namespace forebay::write {

/// The part of one rank in the collective write of a step.
struct CollectiveWrite {
  std::string path;
  CollectiveMethod method = CollectiveMethod::kUnaggregated;  ///< not kIndependent
  std::vector<comm::FileSegment> segments;  ///< the chunks of this rank, by rising offset
  std::vector<ByteRange> rounds;            ///< the same on all ranks
  std::function<void(const Status&)> done;
};

class CollectiveIoThread {
 public:
  /// `file_ranks` has the ranks of one file, and is used for nothing else. kUnsupported if their
  /// MPI cannot be called from any thread.
  static Result<std::unique_ptr<CollectiveIoThread>> start(
      std::shared_ptr<comm::Communicator> file_ranks);
  /// Blocks until all submitted writes have ended, because other ranks are already in these calls.
  ~CollectiveIoThread();
  CollectiveIoThread(const CollectiveIoThread&) = delete;
  CollectiveIoThread& operator=(const CollectiveIoThread&) = delete;

  /// Any thread. Writes run in the order of the calls, which must be the same on all ranks. `done`
  /// is called on this object's thread. Each write opens the file, writes by collective calls, and
  /// closes it.
  void submit(CollectiveWrite collective_write);

 private:
  explicit CollectiveIoThread(std::shared_ptr<comm::Communicator> file_ranks)
      : file_ranks_(std::move(file_ranks)) {}
  void run();
  Status write(const CollectiveWrite& collective_write);

  const std::shared_ptr<comm::Communicator> file_ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<CollectiveWrite> queue_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace forebay::write
