// SPDX-License-Identifier: Apache-2.0
// RoundCaller: the thread that makes the collective calls of MPI-IO for one rank. Such calls block
// until all ranks have come, and nobody can end them; so they are begun only when the owner of the
// file has heard that every rank of the group is ready, and no agent ever waits in one.
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

/// One step's collective writing, as one rank takes part in it.
struct Rounds {
  std::string path;
  RoundMeans means = RoundMeans::kOwnPieces;  ///< not kQueues
  std::vector<comm::FilePiece> pieces;        ///< of this rank, in rising order
  std::vector<ByteRange> rounds;              ///< the same on all ranks
  std::function<void(const Status&)> done;
};

class RoundCaller {
 public:
  /// `group` are the ranks of one file, in a message space of their own. kUnsupported if their MPI
  /// cannot be called by any thread.
  static Result<std::unique_ptr<RoundCaller>> start(std::shared_ptr<comm::Communicator> group);
  /// Ends when what was begun has ended; the rest is told so.
  ~RoundCaller();
  RoundCaller(const RoundCaller&) = delete;
  RoundCaller& operator=(const RoundCaller&) = delete;

  /// Any thread. In the order of the calls, which is the same on all ranks; `done` is called on the
  /// caller's thread. All ranks write by collective calls, and close the file again.
  void add(Rounds rounds);

 private:
  explicit RoundCaller(std::shared_ptr<comm::Communicator> group) : group_(std::move(group)) {}
  void live();
  Status write(const Rounds& rounds);

  const std::shared_ptr<comm::Communicator> group_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Rounds> queue_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace forebay::write
