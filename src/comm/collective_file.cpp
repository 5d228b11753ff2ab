// SPDX-License-Identifier: Apache-2.0
// The rules of order between the calls on one CollectiveFile.
#include "comm/collective_file.hpp"

namespace forebay::comm {

namespace {

const char* word_of(CollectiveState::Split split) noexcept {
  return split == CollectiveState::Split::kRead ? "read" : "write";
}

}  // namespace

tl::unexpected<Error> CollectiveState::refuse(ErrorClass kind,
                                              const char* operation,
                                              const char* cause) const {
  return failure({.kind = kind, .operation = operation, .path = path_, .cause = cause});
}

Status CollectiveState::check_open(const char* operation) const {
  if (is_open_) return {};
  return refuse(ErrorClass::kClosed, operation, "it has been closed");
}

Status CollectiveState::check_collective(const char* operation) const {
  if (split_ == Split::kNone) return check_open(operation);
  return refuse(ErrorClass::kInvalidArgument, operation,
                "a split collective call is under way; end it first");
}

Status CollectiveState::check_write() const {
  if (is_open_ && intent_ == FileIntent::kRead) {
    return refuse(ErrorClass::kInvalidArgument, "write", "it was opened for reading only");
  }
  return check_open("write");
}

Status CollectiveState::begin(Split split) {
  Status free = check_collective(word_of(split));
  if (free && split == Split::kWrite) free = check_write();
  if (free) split_ = split;
  return free;
}

Status CollectiveState::end(Split split) {
  if (split_ != split) {
    return refuse(ErrorClass::kInvalidArgument, word_of(split), "no such split call has begun");
  }
  split_ = Split::kNone;
  return {};
}

}  // namespace forebay::comm
