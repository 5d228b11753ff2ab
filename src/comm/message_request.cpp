// SPDX-License-Identifier: Apache-2.0
// A MessageRequest stores its outcome, so that implementations need not.
#include "comm/message_request.hpp"

#include "base/assert.hpp"

namespace forebay::comm {

Status MessageRequest::finish(Status outcome) {
  operation_.reset();
  outcome_ = outcome;
  return outcome;
}

Result<bool> MessageRequest::test() {
  if (!outcome_) {
    FOREBAY_ASSERT(operation_ != nullptr);
    const Result<bool> is_done = operation_->test();
    if (is_done && !*is_done) return false;
    static_cast<void>(finish(is_done ? Status() : Status(failure(is_done.error()))));
  }
  if (!*outcome_) return failure(outcome_->error());
  return true;
}

Status MessageRequest::wait() {
  if (outcome_) return *outcome_;
  FOREBAY_ASSERT(operation_ != nullptr);
  return finish(operation_->wait());
}

}  // namespace forebay::comm
