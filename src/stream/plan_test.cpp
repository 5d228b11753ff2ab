// SPDX-License-Identifier: Apache-2.0
// Plans of streams: chosen values, given values, and errors.
#include "stream/plan.hpp"

#include <forebay/range.hpp>

#include <random>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

OutputFacts on_disk(Access access) {
  return {.access = access, .access_reason = "for a reason", .in_flight_bytes = 32_MiB};
}

OutputPlan planned(const OutputFacts& facts, const StreamPlan& requested = {}) {
  const auto plan = plan_stream(requested);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message());
  return plan_output(facts, plan.value());
}

TEST(StreamPlan, is_two_buffers_of_16_mib_by_default) {
  const auto plan = plan_stream();
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->buffers, 2U);
  EXPECT_EQ(plan->buffer_bytes, 16_MiB);
  EXPECT_FALSE(plan->access);
}

TEST(StreamPlan, keeps_given_values) {
  const StreamPlan requested{.access = Access::kDirect,
                             .buffer_bytes = 8_MiB,
                             .buffers = 3,
                             .completion_order = CompletionOrder::kInOrder,
                             .tuning = {.request_bytes = 512_KiB,
                                        .queue_depth = 5,
                                        .in_flight_bytes = 4_MiB,
                                        .preallocation = Preallocation::kExpected}};
  const auto plan = plan_stream(requested);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->buffer_bytes, 8_MiB);
  EXPECT_EQ(plan->buffers, 3U);
  EXPECT_EQ(plan->completion_order, CompletionOrder::kInOrder);
  const OutputPlan output = plan_output(on_disk(Access::kBuffered), *plan);
  EXPECT_EQ(output.access, Access::kDirect);
  EXPECT_EQ(output.request_bytes, 512_KiB);
  EXPECT_EQ(output.queue_depth, 5U);
  EXPECT_EQ(output.in_flight_bytes, 4_MiB);
  EXPECT_EQ(output.preallocation, Preallocation::kExpected);
  EXPECT_TRUE(output.reason.starts_with("direct: as given")) << output.reason;
}

TEST(StreamPlan, direct_queue_depth_covers_the_needs_of_the_servers) {
  OutputFacts facts = on_disk(Access::kDirect);
  const std::uint32_t usual = planned(facts).queue_depth;
  facts.saturation_bytes = 100 * planned(facts).request_bytes;
  EXPECT_EQ(planned(facts).queue_depth, 100U);
  EXPECT_EQ(planned(facts, {.tuning = {.queue_depth = 5}}).queue_depth, 5U) << "as given";
  facts.saturation_bytes = 1;
  EXPECT_EQ(planned(facts).queue_depth, usual);
  const OutputFacts buffered = on_disk(Access::kBuffered);
  facts = buffered;
  facts.saturation_bytes = 1_GiB;
  EXPECT_EQ(planned(facts).queue_depth, planned(buffered).queue_depth);
}

TEST(StreamPlan, invalid_values_are_refused_with_field_and_limit) {
  const auto refused = [](const StreamPlan& requested, const char* field) {
    const auto plan = plan_stream(requested);
    ASSERT_EQ(error_class(plan), ErrorClass::kInvalidArgument) << field;
    EXPECT_TRUE(message_contains(plan.error(), std::string(field) + " is"))
        << plan.error().message();
  };
  refused({.buffer_bytes = 4095}, "buffer_bytes");
  refused({.buffer_bytes = 1_GiB + 1}, "buffer_bytes");
  refused({.buffers = 65537}, "buffers");
  refused({.tuning = {.request_bytes = 5000}}, "request_bytes");
  refused({.tuning = {.request_bytes = 2_GiB}}, "request_bytes");
  refused({.tuning = {.queue_depth = 1025}}, "queue_depth");
  refused({.tuning = {.request_bytes = 1_MiB, .in_flight_bytes = 512_KiB}}, "in_flight_bytes");
}

TEST(StreamPlan, device_gets_several_requests_of_a_buffer_at_a_time) {
  EXPECT_EQ(planned(on_disk(Access::kDirect)).request_bytes, 4_MiB);
  EXPECT_EQ(planned(on_disk(Access::kDirect), {.buffer_bytes = 4_MiB}).request_bytes, 1_MiB);
  EXPECT_EQ(planned(on_disk(Access::kDirect), {.buffer_bytes = 1_GiB}).request_bytes, 4_MiB);
}

TEST(StreamPlan, space_is_reserved_where_that_saves_work) {
  EXPECT_EQ(planned(on_disk(Access::kDirect)).preallocation, Preallocation::kGrowing);
  OutputFacts facts = on_disk(Access::kBuffered);
  EXPECT_EQ(planned(facts).preallocation, Preallocation::kNone);
  facts.expected_bytes = 1_GiB;
  EXPECT_EQ(planned(facts).preallocation, Preallocation::kExpected);
  facts.is_in_memory = true;
  EXPECT_EQ(planned(facts).preallocation, Preallocation::kNone);
}

TEST(StreamPlan, reason_names_the_source_of_the_limit) {
  OutputFacts facts = on_disk(Access::kDirect);
  facts.in_flight_reason = "as a file on this disk was measured";
  EXPECT_EQ(planned(facts).reason,
            "for a reason; at most 33554432 bytes under way, as a file on this disk was measured");
  EXPECT_EQ(planned(facts, {.tuning = {.in_flight_bytes = 8_MiB}}).reason,
            "for a reason; at most 8388608 bytes under way, as given");
  // The device's limit applies to all: a stream cannot raise it.
  EXPECT_EQ(planned(facts, {.tuning = {.in_flight_bytes = 64_MiB}}).in_flight_bytes, 32_MiB);
}

TEST(StreamPlan, accepted_plans_have_requests_that_fit) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 10000; ++round) {
    const StreamPlan requested{.buffer_bytes = below(2) * (4_KiB + below(64_MiB)),
                               .buffers = static_cast<std::uint32_t>(below(10)),
                               .tuning = {.request_bytes = below(2) * below(4096) * 4_KiB,
                                          .queue_depth = static_cast<std::uint32_t>(below(1030)),
                                          .in_flight_bytes = below(2) * below(64_MiB)}};
    const auto plan = plan_stream(requested);
    if (!plan) continue;
    OutputFacts facts = on_disk(below(2) == 0 ? Access::kDirect : Access::kBuffered);
    facts.in_flight_bytes = below(2) * below(64_MiB);
    const OutputPlan output = plan_output(facts, *plan);
    ASSERT_GT(plan->buffers, 0U);
    ASSERT_GT(output.queue_depth, 0U);
    ASSERT_GE(output.request_bytes, 4_KiB);
    ASSERT_EQ(output.request_bytes % 4_KiB, 0U);
    ASSERT_GE(output.in_flight_bytes, output.request_bytes);
  }
}

}  // namespace
}  // namespace forebay
