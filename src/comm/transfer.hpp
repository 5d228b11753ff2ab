// SPDX-License-Identifier: Apache-2.0
// One message under way. Bulk between ranks is announced (both sides know its size before), so a
// message is nothing but memory, and this is the handle that tells when the memory is free again.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <optional>

namespace forebay::comm {

/// What a make of Communicator knows about a message under way. test() and wait() are called until
/// one of them says that it is over, and not again. Destroying it earlier takes a receive back; a
/// send is waited for where the make cannot take it back.
class TransferWork {
 public:
  virtual ~TransferWork() = default;
  virtual Result<bool> test() = 0;
  virtual Status wait() = 0;
};

/// A message under way, or over. Move-only. The memory it reads or fills belongs to the caller, who
/// keeps it, untouched, until the Transfer is over or gone. One thread at a time; which threads may
/// at all is what Communicator::thread_support() says.
class Transfer {
 public:
  /// Over, and went well.
  Transfer() : outcome_(Status()) {}
  explicit Transfer(std::unique_ptr<TransferWork> work) : work_(std::move(work)) {}
  /// Over before it began.
  explicit Transfer(Error refused) : outcome_(failure(std::move(refused))) {}

  /// True once the memory is free again and, for a receive, filled. Does not block. An error ends
  /// the transfer, too; the content of a receive's memory is then undefined. Says the same again
  /// when asked again.
  Result<bool> test();

  /// Blocks until it is over. A send may wait until the other side receives.
  Status wait();

 private:
  Status finish(Status outcome);

  std::unique_ptr<TransferWork> work_;  // null once it is over
  std::optional<Status> outcome_;
};

}  // namespace forebay::comm
