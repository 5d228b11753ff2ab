// SPDX-License-Identifier: Apache-2.0
#include "read/node_messages.hpp"

#include <gtest/gtest.h>

namespace forebay::read {
namespace {

template <class M>
M there_and_back(const M& message) {
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

ReadPlan some_plan() {
  return {.access = Access::kDirect,
          .splinter_bytes = 1,
          .budget_bytes = 2,
          .window_bytes = 3,
          .request_bytes = 4,
          .queue_depth = 5,
          .stripe_bytes = 6,
          .servers = 7,
          .eager_bytes = 0,
          .retirement = Retirement::kCache,
          .agents = Agents::kPerNode,
          .agent_nodes = {3, 1},
          .agent_stripe_bytes = 6,
          .reason = "because"};
}

void expect_equal(const ReadPlan& a, const ReadPlan& b) {
  EXPECT_EQ(a.access, b.access);
  EXPECT_EQ(a.splinter_bytes, b.splinter_bytes);
  EXPECT_EQ(a.budget_bytes, b.budget_bytes);
  EXPECT_EQ(a.window_bytes, b.window_bytes);
  EXPECT_EQ(a.request_bytes, b.request_bytes);
  EXPECT_EQ(a.queue_depth, b.queue_depth);
  EXPECT_EQ(a.stripe_bytes, b.stripe_bytes);
  EXPECT_EQ(a.servers, b.servers);
  EXPECT_EQ(a.eager_bytes, b.eager_bytes);
  EXPECT_EQ(a.retirement, b.retirement);
  EXPECT_EQ(a.agents, b.agents);
  EXPECT_EQ(a.agent_nodes, b.agent_nodes);
  EXPECT_EQ(a.agent_stripe_bytes, b.agent_stripe_bytes);
  EXPECT_EQ(a.reason, b.reason);
}

TEST(NodeMessages, each_arrives_as_it_was_sent_or_not_at_all) {
  EXPECT_EQ(there_and_back(Welcome{.row = 7}).row, 7U);

  const OpenRequest request{{1, 2}, {3, 4}, some_plan(), "/a/file", Access::kBuffered, "so"};
  const OpenRequest asked = there_and_back(request);
  EXPECT_EQ(asked.handle, request.handle);
  EXPECT_EQ(asked.extent, request.extent);
  EXPECT_EQ(asked.path, request.path);
  EXPECT_EQ(asked.access, request.access);
  EXPECT_EQ(asked.access_reason, request.access_reason);
  expect_equal(asked.plan, request.plan);

  const Opened opened = there_and_back(Opened{{5, 6}, {}});
  EXPECT_EQ(opened.handle, (SessionHandle{5, 6}));
  expect_equal(opened.plan, {});

  const Error why({.kind = ErrorClass::kLimit, .operation = "open", .path = "p", .cause = "c"});
  const Refused refused = there_and_back(Refused{{8, 9}, why});
  EXPECT_EQ(refused.handle, (SessionHandle{8, 9}));
  EXPECT_EQ(refused.why.message(), why.message());

  EXPECT_EQ(there_and_back(Leave{{1, 3}}).handle, (SessionHandle{1, 3}));
}

TEST(NodeMessages, unknown_kinds_are_damage) {
  auto bytes = to_bytes(Leave{{1, 3}});
  bytes[0] = std::byte{99};
  const auto back = message_from(bytes);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().kind(), ErrorClass::kDamage);
}

}  // namespace
}  // namespace forebay::read
