// SPDX-License-Identifier: Apache-2.0
#include "read/splinter_request.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace forebay::read {
namespace {

SplinterRequest sequenced_request(RequestSequencer& sequencer, SplinterIndex splinter) {
  SplinterRequest request{.splinter = splinter, .part = {0, 1}};
  sequencer.assign_sequence(request);
  return request;
}

TEST(RequestSequencer, failure_applies_to_requests_numbered_before_it) {
  RequestSequencer sequencer;
  SplinterRequest first = sequenced_request(sequencer, 5);
  const SplinterRequest second = sequenced_request(sequencer, 5);
  const SplinterRequest other = sequenced_request(sequencer, 4);
  sequencer.fail_for_memory(5, sequencer.last_sequence());
  const SplinterRequest later = sequenced_request(sequencer, 5);
  for (int look = 0; look < 2; ++look) {
    EXPECT_TRUE(sequencer.has_failed_for_memory(first));
    EXPECT_TRUE(sequencer.has_failed_for_memory(second));
    EXPECT_FALSE(sequencer.has_failed_for_memory(other));
    EXPECT_FALSE(sequencer.has_failed_for_memory(later));
  }
  sequencer.assign_sequence(first);
  EXPECT_TRUE(sequencer.has_failed_for_memory(first)) << "the number does not change";
}

TEST(RequestSequencer, failure_may_apply_to_some_requests) {
  RequestSequencer sequencer;
  const SplinterRequest first = sequenced_request(sequencer, 5);
  const SplinterRequest second = sequenced_request(sequencer, 5);
  sequencer.fail_for_memory(5, first.sequence);
  EXPECT_TRUE(sequencer.has_failed_for_memory(first));
  EXPECT_FALSE(sequencer.has_failed_for_memory(second));
}

TEST(RequestSequencer, request_without_number_has_not_failed) {
  RequestSequencer sequencer;
  static_cast<void>(sequenced_request(sequencer, 5));
  sequencer.fail_for_memory(5, sequencer.last_sequence());
  EXPECT_FALSE(sequencer.has_failed_for_memory({.splinter = 5}));
}

TEST(RequestSequencer, failures_of_many_splinters_are_kept) {
  RequestSequencer sequencer;
  std::vector<SplinterRequest> requests;
  for (SplinterIndex splinter = 0; splinter < 8192; ++splinter)
    requests.push_back(sequenced_request(sequencer, splinter));
  for (const SplinterRequest& request : requests)
    sequencer.fail_for_memory(request.splinter, sequencer.last_sequence());
  for (const SplinterRequest& request : requests)
    ASSERT_TRUE(sequencer.has_failed_for_memory(request)) << request.splinter;
}

}  // namespace
}  // namespace forebay::read
