// SPDX-License-Identifier: Apache-2.0
// A Transfer remembers how it ended, so that the makes need not.
#include "comm/transfer.hpp"

#include "base/assert.hpp"

namespace forebay::comm {

Status Transfer::finish(Status outcome) {
  work_.reset();
  outcome_ = outcome;
  return outcome;
}

Result<bool> Transfer::test() {
  if (!outcome_) {
    FOREBAY_ASSERT(work_ != nullptr);
    const Result<bool> over = work_->test();
    if (over && !*over) return false;
    finish(over ? Status() : Status(failure(over.error())));
  }
  if (!*outcome_) return failure(outcome_->error());
  return true;
}

Status Transfer::wait() {
  if (outcome_) return *outcome_;
  FOREBAY_ASSERT(work_ != nullptr);
  return finish(work_->wait());
}

}  // namespace forebay::comm
