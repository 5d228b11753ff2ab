// SPDX-License-Identifier: Apache-2.0
// MessageRequest: one message in progress. The receiver passes memory of the size of the message,
// so Forebay buffers no bytes. The request reports when the caller may use the memory again.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <optional>

namespace forebay::comm {

/// A message in progress, as an implementation of Communicator provides it. test() and wait() are
/// called until one of them reports completion or an Error, and not again. Earlier destruction
/// cancels a receive. It cancels a send too, or blocks until the send is complete (MPI).
class MessageOperation {
 public:
  virtual ~MessageOperation() = default;
  virtual Result<bool> test() = 0;
  virtual Status wait() = 0;
};

/// A message in progress or complete. Move-only. The caller owns the memory that is read or filled.
/// It must stay valid and untouched until the MessageRequest is complete or destroyed. Destruction
/// may block, see MessageOperation. One thread at a time; Communicator::thread_support() states
/// which threads.
class MessageRequest {
 public:
  /// Complete, successful.
  MessageRequest() : outcome_(Status()) {}
  explicit MessageRequest(std::unique_ptr<MessageOperation> operation)
      : operation_(std::move(operation)) {}
  /// Failed before it began.
  explicit MessageRequest(Error refused) : outcome_(failure(std::move(refused))) {}

  /// True once the memory is free again and, for a receive, filled. Does not block. An error also
  /// ends the message; the content of a receive's memory is then undefined. Later calls return the
  /// same.
  Result<bool> test();

  /// Blocks until complete. A send may block until the other side receives. Later calls return the
  /// same.
  Status wait();

 private:
  Status finish(Status outcome);

  std::unique_ptr<MessageOperation> operation_;  // null once complete
  std::optional<Status> outcome_;
};

}  // namespace forebay::comm
