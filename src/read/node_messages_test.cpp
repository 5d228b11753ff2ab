// SPDX-License-Identifier: Apache-2.0
#include "read/node_messages.hpp"

#include <random>

#include <gmock/gmock.h>

#include "comm/message_testing.hpp"

namespace forebay::read {
namespace {

template <class M>
M round_trip(const M& message) {
  const auto bytes = to_bytes(message);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const auto part = message_from(std::span(bytes).first(cut));
    EXPECT_FALSE(part) << "cut after " << cut << " bytes";
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(message_from(longer));
  const auto back = message_from(bytes);
  EXPECT_TRUE(back) << back.error().message();
  return std::get<M>(*back);
}

ReadPlan test_plan() {
  return {.access = Access::kDirect,
          .budget_bytes = 2,
          .readahead_bytes = 0,
          .eviction = EvictionPolicy::kLru,
          .pre_execution_mode = PreExecutionMode::kAgent,
          .tuning = {.splinter_bytes = 1,
                     .window_bytes = 3,
                     .request_bytes = 4,
                     .queue_depth = 5,
                     .stripe_bytes = 6,
                     .stripe_count = 7,
                     .agent_scope = AgentScope::kPerNode,
                     .agent_nodes = {3, 1},
                     .agent_stripe_bytes = 6},
          .reason = "because"};
}

void expect_equal(const ReadPlan& a, const ReadPlan& b) {
  EXPECT_EQ(a.access, b.access);
  EXPECT_EQ(a.tuning.splinter_bytes, b.tuning.splinter_bytes);
  EXPECT_EQ(a.budget_bytes, b.budget_bytes);
  EXPECT_EQ(a.tuning.window_bytes, b.tuning.window_bytes);
  EXPECT_EQ(a.tuning.request_bytes, b.tuning.request_bytes);
  EXPECT_EQ(a.tuning.queue_depth, b.tuning.queue_depth);
  EXPECT_EQ(a.tuning.stripe_bytes, b.tuning.stripe_bytes);
  EXPECT_EQ(a.tuning.stripe_count, b.tuning.stripe_count);
  EXPECT_EQ(a.readahead_bytes, b.readahead_bytes);
  EXPECT_EQ(a.eviction, b.eviction);
  EXPECT_EQ(a.mode, b.mode);
  EXPECT_EQ(a.pre_execution_mode, b.pre_execution_mode);
  EXPECT_EQ(a.tuning.agent_scope, b.tuning.agent_scope);
  EXPECT_EQ(a.tuning.agent_nodes, b.tuning.agent_nodes);
  EXPECT_EQ(a.tuning.agent_stripe_bytes, b.tuning.agent_stripe_bytes);
  EXPECT_EQ(a.reason, b.reason);
}

TEST(NodeMessages, each_message_is_decoded_unchanged_or_refused) {
  EXPECT_EQ(round_trip(ConnectReply{.client_index = 7}).client_index, 7U);

  const OpenSessionRequest request{{1, 2}, {3, 4}, test_plan(), "/a/file", Access::kBuffered, "so"};
  const OpenSessionRequest decoded_request = round_trip(request);
  EXPECT_EQ(decoded_request.handle, request.handle);
  EXPECT_EQ(decoded_request.extent, request.extent);
  EXPECT_EQ(decoded_request.path, request.path);
  EXPECT_EQ(decoded_request.access, request.access);
  EXPECT_EQ(decoded_request.access_reason, request.access_reason);
  expect_equal(decoded_request.plan, request.plan);

  const OpenSessionReply opened = round_trip(OpenSessionReply{{5, 6}, test_plan()});
  EXPECT_EQ(opened.handle, (SessionHandle{5, 6}));
  expect_equal(opened.plan, test_plan());

  const Error why({.kind = ErrorClass::kLimit, .operation = "open", .path = "p", .cause = "c"});
  const ErrorReply refused = round_trip(ErrorReply{{8, 9}, why});
  EXPECT_EQ(refused.handle, (SessionHandle{8, 9}));
  EXPECT_EQ(refused.error.message(), why.message());

  EXPECT_EQ(round_trip(CloseSessionRequest{{1, 3}}).handle, (SessionHandle{1, 3}));
  EXPECT_EQ(round_trip(InvalidateRequest{{1, 3}, {5, 7}}).range, (ByteRange{5, 7}));
  EXPECT_EQ(round_trip(DoneReply{{1, 3}}).handle, (SessionHandle{1, 3}));
  const StartFunctionRequest function =
      round_trip(StartFunctionRequest{{1, 3}, "tree", {std::byte{4}}});
  EXPECT_EQ(function.name, "tree");
  EXPECT_EQ(function.argument, std::vector{std::byte{4}});
}

TEST(NodeMessages, malformed_bytes_are_refused_by_field) {
  const Error why({.kind = ErrorClass::kLimit, .operation = "open", .path = "p", .cause = "c"});
  const std::vector<NodeMessage> messages{
      ConnectReply{.client_index = 7},
      OpenSessionRequest{{1, 2}, {3, 4}, test_plan(), "/a/file", Access::kBuffered, "so"},
      OpenSessionReply{{5, 6}, test_plan()},
      ErrorReply{{8, 9}, why},
      CloseSessionRequest{{1, 3}},
      InvalidateRequest{{1, 3}, {5, 7}},
      DoneReply{{1, 3}},
      StartFunctionRequest{{1, 3}, "tree", {std::byte{4}}}};
  for (const NodeMessage& message : messages)
    comm::expect_safe_decoding(to_bytes(message), message_from);
}

TEST(NodeMessages, values_out_of_range_are_refused_by_field) {
  const auto message_of = [](const NodeMessage& message) {
    const auto decoded = message_from(to_bytes(message));
    return decoded ? std::string() : decoded.error().message();
  };
  const OpenSessionRequest request{{1, 2}, {3, 4}, test_plan(), "/a/file", Access::kBuffered, "so"};
  OpenSessionRequest beyond = request;
  beyond.extent = {INT64_MAX, 1};
  EXPECT_THAT(message_of(beyond),
              testing::HasSubstr("'OpenSessionRequest': field 'range.size' is 1"));
  OpenSessionRequest access = request;
  access.access = Access{9};
  EXPECT_THAT(message_of(access), testing::HasSubstr("'OpenSessionRequest': field 'access' is 9"));
  ReadPlan plan = test_plan();
  plan.tuning.splinter_bytes = 0;
  EXPECT_THAT(message_of(OpenSessionReply{{5, 6}, plan}),
              testing::HasSubstr("'OpenSessionReply': field 'plan.splinter_bytes' is 0"));
  plan = test_plan();
  plan.eviction = EvictionPolicy{7};
  EXPECT_THAT(message_of(OpenSessionReply{{5, 6}, plan}),
              testing::HasSubstr("'OpenSessionReply': field 'plan.eviction' is 7"));
}

TEST(NodeMessages, malformed_load_requests_are_refused_by_field) {
  const Geometry geometry({0, 100'000}, 4096);
  const LoadRequest good{.splinter = 7, .part = {0, 4096}, .kind = LoadRequest::Kind::kNotify};
  EXPECT_TRUE(check_ring_message(good, geometry));
  std::mt19937 random(comm::kMutationSeed);
  for (int round = 0; round < comm::kMutations; ++round) {
    LoadRequest ring_message = good;
    auto* const raw = reinterpret_cast<std::byte*>(&ring_message);
    raw[random() % sizeof ring_message] = static_cast<std::byte>(random());
    const Status checked = check_ring_message(ring_message, geometry);
    const bool is_right = ring_message.splinter < geometry.count() &&
                          ring_message.part.first < ring_message.part.end &&
                          geometry.full_part(ring_message.splinter).covers(ring_message.part) &&
                          ring_message.kind <= LoadRequest::Kind::kObserve &&
                          ring_message.priority <= LoadPriority::kBlocked &&
                          ring_message.granularity <= LoadGranularity::kExact;
    EXPECT_EQ(checked.has_value(), is_right);
    if (checked) continue;
    EXPECT_THAT(checked.error().message(), testing::ContainsRegex("field '.+' is [0-9]+"));
  }
}

TEST(NodeMessages, malformed_notifications_are_refused_by_field) {
  const Geometry geometry({0, 100'000}, 4096);
  const LoadNotification good{.sequence = 9, .splinter = 7, .kind = NotificationKind::kNoMemory};
  EXPECT_TRUE(check_ring_message(good, geometry, 9));
  const auto message_of = [&](const LoadNotification& ring_message) {
    const Status checked = check_ring_message(ring_message, geometry, 9);
    return checked ? std::string() : checked.error().message();
  };
  LoadNotification ring_message = good;
  ring_message.sequence = 10;
  EXPECT_THAT(message_of(ring_message), testing::HasSubstr("field 'sequence' is 10"));
  ring_message = good;
  ring_message.splinter = geometry.count();
  EXPECT_THAT(message_of(ring_message), testing::HasSubstr("field 'splinter' is 25"));
  ring_message = good;
  ring_message.kind = static_cast<NotificationKind>(4);
  EXPECT_THAT(message_of(ring_message), testing::HasSubstr("field 'kind' is 4"));
}

TEST(NodeMessages, unknown_kinds_are_damage) {
  auto bytes = to_bytes(CloseSessionRequest{{1, 3}});
  bytes[0] = std::byte{99};
  const auto back = message_from(bytes);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().kind(), ErrorClass::kDamage);
}

}  // namespace
}  // namespace forebay::read
