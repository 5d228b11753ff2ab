// SPDX-License-Identifier: Apache-2.0
// Sessions, views and requests of the C interface on a file of numbers.
#include <poll.h>

#include "bindings/c/testing.hpp"

namespace forebay::bindings {
namespace {

struct CSession : CSessionFixture {};

TEST_F(CSession, reads_a_range_at_once_and_by_request) {
  std::uint64_t numbers[4] = {};
  FOREBAY_ASSERT_OK(forebay_session_read(session, {800, 32}, numbers, nullptr, &error));
  EXPECT_EQ(numbers[0], 100U);
  EXPECT_EQ(numbers[3], 103U);
  forebay_request* request = nullptr;
  FOREBAY_ASSERT_OK(forebay_session_read(session, {8'000, 32}, numbers, &request, &error));
  ASSERT_NE(request, nullptr);
  bool is_done = false;
  FOREBAY_EXPECT_OK(forebay_request_wait(request, INT64_MAX, &is_done, &error));
  EXPECT_TRUE(is_done);
  EXPECT_EQ(numbers[0], 1'000U);
  FOREBAY_EXPECT_OK(forebay_request_test(request, &is_done, &error));
  EXPECT_TRUE(is_done);
  forebay_request_free(request);
}

TEST_F(CSession, loop_of_tests_completes_a_request) {
  std::vector<std::uint64_t> numbers(kNumbers);
  forebay_request* request = nullptr;
  FOREBAY_ASSERT_OK(
      forebay_session_read(session, {0, kNumbers * 8}, numbers.data(), &request, &error));
  bool is_done = false;
  while (!is_done)
    FOREBAY_ASSERT_OK(forebay_request_test(request, &is_done, &error));
  EXPECT_EQ(numbers[kNumbers - 1], kNumbers - 1);
  forebay_request_free(request);
}

TEST_F(CSession, reads_a_list_of_ranges_in_its_order) {
  const forebay_range ranges[] = {{800, 8}, {80, 16}};
  std::uint64_t numbers[3] = {};
  FOREBAY_ASSERT_OK(forebay_session_read_ranges(session, {ranges, 2}, numbers, nullptr, &error));
  EXPECT_EQ(numbers[0], 100U);
  EXPECT_EQ(numbers[1], 10U);
  EXPECT_EQ(numbers[2], 11U);
  EXPECT_EQ(forebay_session_read_ranges(session, {nullptr, 2}, numbers, nullptr, &error),
            FOREBAY_INVALID_ARGUMENT);
  const forebay_range huge[] = {{0, UINT64_MAX}, {0, UINT64_MAX}};
  EXPECT_EQ(forebay_session_read_ranges(session, {huge, 2}, numbers, nullptr, &error),
            FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "2^64"));
}

TEST_F(CSession, reads_a_subarray) {
  const std::uint64_t shape[] = {100, 200};
  const std::uint64_t start[] = {10, 20};
  const std::uint64_t count[] = {2, 3};
  forebay_subarray block FOREBAY_INIT(forebay_subarray);
  block.dimensions = 2;
  block.shape = shape;
  block.start = start;
  block.count = count;
  block.element_bytes = 8;
  block.array_offset = 8;
  std::uint64_t numbers[6] = {};
  FOREBAY_ASSERT_OK(forebay_session_read_subarray(session, &block, numbers, nullptr, &error));
  EXPECT_EQ(numbers[0], 2'021U);
  EXPECT_EQ(numbers[5], 2'223U);
}

TEST_F(CSession, invalid_subarrays_are_refused) {
  const std::uint64_t one[] = {1};
  const std::uint64_t huge[] = {UINT64_MAX};
  std::uint64_t number = 0;
  forebay_subarray block FOREBAY_INIT(forebay_subarray);
  const auto status = [&] {
    return forebay_session_read_subarray(session, &block, &number, nullptr, &error);
  };
  EXPECT_EQ(status(), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "dimensions is 0"));
  block.dimensions = 1;
  EXPECT_EQ(status(), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "shape is NULL"));
  block.shape = block.start = block.count = one;
  block.order = 2;
  EXPECT_EQ(status(), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "order is 2"));
  block.order = FOREBAY_ORDER_C;
  block.count = huge;
  block.element_bytes = 8;
  EXPECT_EQ(status(), FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "2^64"));
}

TEST_F(CSession, range_outside_is_refused_by_the_call) {
  std::uint64_t number = 7;
  auto* request = reinterpret_cast<forebay_request*>(&number);
  EXPECT_EQ(forebay_session_read(session, {kNumbers * 8, 8}, &number, &request, &error),
            FOREBAY_OUT_OF_RANGE);
  EXPECT_EQ(request, nullptr);
  EXPECT_EQ(error.offset, static_cast<std::int64_t>(kNumbers * 8));
  EXPECT_EQ(number, 7U);
  EXPECT_EQ(forebay_session_read(session, {0, 8}, nullptr, nullptr, &error),
            FOREBAY_INVALID_ARGUMENT);
}

TEST_F(CSession, view_shows_the_bytes_until_it_is_released) {
  forebay_view view;
  FOREBAY_ASSERT_OK(forebay_session_view(session, {80, 16}, &view, nullptr, &error));
  EXPECT_EQ(view.size, 16U);
  EXPECT_EQ(view.offset, 80U);
  EXPECT_EQ(static_cast<const std::uint64_t*>(view.data)[1], 11U);
  forebay_view_release(&view);
  EXPECT_EQ(view.data, nullptr);
  forebay_view_release(&view);
}

TEST_F(CSession, view_outlives_its_session) {
  forebay_view view;
  FOREBAY_ASSERT_OK(forebay_session_view(session, {80, 16}, &view, nullptr, &error));
  forebay_session_close(std::exchange(session, nullptr));
  EXPECT_EQ(static_cast<const std::uint64_t*>(view.data)[0], 10U);
  forebay_view_release(&view);
}

TEST_F(CSession, view_by_request_is_filled_when_it_finishes) {
  forebay_view view;
  forebay_request* request = nullptr;
  FOREBAY_ASSERT_OK(forebay_session_view(session, {160, 8}, &view, &request, &error));
  FOREBAY_ASSERT_OK(forebay_request_wait(request, -1, nullptr, &error));
  EXPECT_EQ(static_cast<const std::uint64_t*>(view.data)[0], 20U);
  forebay_view_release(&view);
  forebay_request_free(request);
}

TEST_F(CSession, failed_view_is_empty) {
  forebay_view view;
  EXPECT_EQ(forebay_session_view(session, {kNumbers * 8, 8}, &view, nullptr, &error),
            FOREBAY_OUT_OF_RANGE);
  EXPECT_EQ(view.data, nullptr);
  forebay_view_release(&view);
  FOREBAY_EXPECT_OK(forebay_session_view(session, {0, 0}, &view, nullptr, &error));
  EXPECT_EQ(view.size, 0U);
  forebay_view_release(&view);
}

TEST_F(CSession, wait_all_returns_the_first_failure_and_all_results) {
  std::uint64_t numbers[2] = {};
  forebay_request* requests[3] = {};
  FOREBAY_ASSERT_OK(forebay_session_read(session, {80, 8}, &numbers[0], &requests[0], &error));
  FOREBAY_ASSERT_OK(forebay_session_read(session, {160, 8}, &numbers[1], &requests[2], &error));
  FOREBAY_EXPECT_OK(forebay_request_wait_all(requests, 3, &error));
  EXPECT_EQ(numbers[0], 10U);
  EXPECT_EQ(numbers[1], 20U);
  for (forebay_request* request : requests)
    forebay_request_free(request);
  FOREBAY_EXPECT_OK(forebay_request_wait_all(nullptr, 0, &error));
}

/// A session on a part of the file that is cold, as nothing is read before a request.
struct CPendingRequest : CSessionFixture {
  CPendingRequest() : into(kNumbers) {
    EXPECT_EQ(forebay_session_read(session, {0, kNumbers * 8}, into.data(), &request, &error),
              FOREBAY_OK);
  }
  ~CPendingRequest() override { forebay_request_free(request); }
  std::vector<std::uint64_t> into;
  forebay_request* request = nullptr;
};

TEST_F(CPendingRequest, cancel_ends_it_unless_it_has_finished) {
  bool was_done = false;
  FOREBAY_ASSERT_OK(forebay_request_test(request, &was_done, &error));
  FOREBAY_EXPECT_OK(forebay_request_cancel(request, &error));
  bool is_done = false;
  EXPECT_EQ(forebay_request_test(request, &is_done, &error),
            was_done ? FOREBAY_OK : FOREBAY_CANCELLED);
  EXPECT_TRUE(is_done);
  EXPECT_EQ(forebay_request_wait(request, -1, nullptr, &error),
            was_done ? FOREBAY_OK : FOREBAY_CANCELLED);
}

TEST_F(CPendingRequest, descriptor_signals_progress_to_a_loop) {
  int descriptor = -1;
  FOREBAY_ASSERT_OK(forebay_request_event_fd(request, &descriptor, &error));
  bool is_done = false;
  while (!is_done) {
    pollfd waited{.fd = descriptor, .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&waited, 1, 60'000), 1);
    FOREBAY_ASSERT_OK(forebay_request_test(request, &is_done, &error));
  }
  EXPECT_EQ(into[kNumbers - 1], kNumbers - 1);
}

TEST_F(CPendingRequest, closed_session_ends_it) {
  forebay_session_close(std::exchange(session, nullptr));
  const int status = forebay_request_wait(request, -1, nullptr, &error);
  EXPECT_TRUE(status == FOREBAY_CLOSED || status == FOREBAY_OK) << error.message;
  if (status == FOREBAY_OK) {
    EXPECT_EQ(into[1], 1U);
  }
}

TEST_F(CPendingRequest, handles_may_be_freed_in_any_order) {
  forebay_runtime_destroy(std::exchange(runtime, nullptr));
  forebay_file_close(std::exchange(file, nullptr));
  FOREBAY_EXPECT_OK(forebay_request_wait(request, -1, nullptr, &error));
  EXPECT_EQ(into[2], 2U);
  forebay_session_close(std::exchange(session, nullptr));
}

TEST_F(CSession, request_of_a_read_has_no_receipt) {
  std::uint64_t number = 0;
  forebay_request* request = nullptr;
  FOREBAY_ASSERT_OK(forebay_session_read(session, {0, 8}, &number, &request, &error));
  forebay_receipt receipt FOREBAY_INIT(forebay_receipt);
  EXPECT_EQ(forebay_request_receipt(request, &receipt, &error), FOREBAY_INVALID_ARGUMENT);
  forebay_request_free(request);
}

TEST_F(CSession, plan_is_in_force) {
  forebay_read_plan plan FOREBAY_INIT(forebay_read_plan);
  plan.splinter_bytes = 8192;
  plan.window_bytes = 65'536;
  plan.budget_bytes = 65'536;
  plan.readahead_bytes = FOREBAY_NO_READAHEAD;
  forebay_session* other = nullptr;
  FOREBAY_ASSERT_OK(forebay_session_open(file, {0, 262'144}, &plan, &other, &error));
  std::uint64_t number = 0;
  FOREBAY_EXPECT_OK(forebay_session_read(other, {0, 8}, &number, nullptr, &error));
  forebay_session_report report FOREBAY_INIT(forebay_session_report);
  FOREBAY_EXPECT_OK(forebay_session_get_report(other, &report, &error));
  EXPECT_EQ(report.window_bytes, 65'536U);
  EXPECT_STRNE(report.plan_reason, "");
  forebay_session_close(other);
}

TEST_F(CSession, plans_that_cannot_work_are_refused) {
  forebay_read_plan plan FOREBAY_INIT(forebay_read_plan);
  plan.splinter_bytes = 1000;
  forebay_session* other = nullptr;
  EXPECT_EQ(forebay_session_open(file, {0, FOREBAY_ALL}, &plan, &other, &error),
            FOREBAY_INVALID_ARGUMENT);
  plan.splinter_bytes = 0;
  plan.mode = -1;
  EXPECT_EQ(forebay_session_open(file, {0, FOREBAY_ALL}, &plan, &other, &error),
            FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(has_text(error, "mode is -1"));
  EXPECT_EQ(forebay_session_open(file, {kNumbers * 8, 8}, nullptr, &other, &error),
            FOREBAY_OUT_OF_RANGE);
  EXPECT_EQ(other, nullptr);
}

TEST_F(CSession, hints_need_a_session_on_demand) {
  EXPECT_EQ(forebay_session_hint(session, "read {10 x (64 i, 8)}", &error),
            FOREBAY_INVALID_ARGUMENT);
  forebay_read_plan plan FOREBAY_INIT(forebay_read_plan);
  plan.mode = FOREBAY_MODE_ON_DEMAND;
  forebay_session* other = nullptr;
  FOREBAY_ASSERT_OK(forebay_session_open(file, {0, FOREBAY_ALL}, &plan, &other, &error));
  FOREBAY_EXPECT_OK(forebay_session_hint(other, "read {10 x (64 i, 8)}", &error));
  const forebay_range reads[] = {{0, 8}, {640'000, 8}};
  FOREBAY_EXPECT_OK(forebay_session_hint_reads(other, {reads, 2}, &error));
  FOREBAY_EXPECT_OK(forebay_session_prefetch(other, {0, 4096}, &error));
  EXPECT_EQ(forebay_session_hint(other, "read {", &error), FOREBAY_INVALID_ARGUMENT);
  forebay_session_close(other);
}

TEST_F(CSession, report_counts_delivered_bytes) {
  std::uint64_t numbers[2];
  FOREBAY_ASSERT_OK(forebay_session_read(session, {0, 16}, numbers, nullptr, &error));
  forebay_session_report report FOREBAY_INIT(forebay_session_report);
  FOREBAY_EXPECT_OK(forebay_session_get_report(session, &report, &error));
  EXPECT_EQ(report.bytes_served, 16U);
  EXPECT_GE(report.bytes_read, 16U);
  std::uint64_t size = 0;
  FOREBAY_EXPECT_OK(forebay_file_size(file, &size, &error));
  EXPECT_EQ(size, kNumbers * 8);
}

}  // namespace
}  // namespace forebay::bindings
