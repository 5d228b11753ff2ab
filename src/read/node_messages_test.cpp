// SPDX-License-Identifier: Apache-2.0
#include "read/node_messages.hpp"

#include <random>

#include <gmock/gmock.h>

#include "comm/message_testing.hpp"

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

  const Opened opened = there_and_back(Opened{{5, 6}, some_plan()});
  EXPECT_EQ(opened.handle, (SessionHandle{5, 6}));
  expect_equal(opened.plan, some_plan());

  const Error why({.kind = ErrorClass::kLimit, .operation = "open", .path = "p", .cause = "c"});
  const Refused refused = there_and_back(Refused{{8, 9}, why});
  EXPECT_EQ(refused.handle, (SessionHandle{8, 9}));
  EXPECT_EQ(refused.why.message(), why.message());

  EXPECT_EQ(there_and_back(Leave{{1, 3}}).handle, (SessionHandle{1, 3}));
}

TEST(NodeMessages, malformed_bytes_are_refused_by_field) {
  const Error why({.kind = ErrorClass::kLimit, .operation = "open", .path = "p", .cause = "c"});
  const std::vector<NodeMessage> all{
      Welcome{.row = 7},
      OpenRequest{{1, 2}, {3, 4}, some_plan(), "/a/file", Access::kBuffered, "so"},
      Opened{{5, 6}, some_plan()}, Refused{{8, 9}, why}, Leave{{1, 3}}};
  for (const NodeMessage& message : all)
    comm::expect_safe_decoding(to_bytes(message), message_from);
}

TEST(NodeMessages, values_out_of_range_are_refused_by_field) {
  const auto message_of = [](const NodeMessage& message) {
    const auto decoded = message_from(to_bytes(message));
    return decoded ? std::string() : decoded.error().message();
  };
  const OpenRequest request{{1, 2}, {3, 4}, some_plan(), "/a/file", Access::kBuffered, "so"};
  OpenRequest beyond = request;
  beyond.extent = {INT64_MAX, 1};
  EXPECT_THAT(message_of(beyond), testing::HasSubstr("'open': field 'extent.size' is 1"));
  OpenRequest access = request;
  access.access = Access{9};
  EXPECT_THAT(message_of(access), testing::HasSubstr("'open': field 'access' is 9"));
  ReadPlan plan = some_plan();
  plan.splinter_bytes = 0;
  EXPECT_THAT(message_of(Opened{{5, 6}, plan}),
              testing::HasSubstr("'opened': field 'plan.splinter_bytes' is 0"));
  plan = some_plan();
  plan.retirement = Retirement{7};
  EXPECT_THAT(message_of(Opened{{5, 6}, plan}),
              testing::HasSubstr("'opened': field 'plan.retirement' is 7"));
}

TEST(NodeMessages, malformed_words_are_refused_by_field) {
  const Geometry geometry({0, 100'000}, 4096);
  const ClientWord good{.splinter = 7, .part = {0, 4096}, .kind = ClientWord::Kind::kAwait};
  EXPECT_TRUE(check_word(good, geometry));
  std::mt19937 random(comm::kMutationSeed);
  for (int round = 0; round < comm::kMutations; ++round) {
    ClientWord word = good;
    auto* const raw = reinterpret_cast<std::byte*>(&word);
    raw[random() % sizeof word] = static_cast<std::byte>(random());
    const Status checked = check_word(word, geometry);
    const bool is_right = word.splinter < geometry.count() && word.part.first < word.part.last &&
                          geometry.whole(word.splinter).covers(word.part) &&
                          word.kind <= ClientWord::Kind::kAwait &&
                          word.urgency <= Urgency::kBlocked && word.precision <= Precision::kExact;
    EXPECT_EQ(checked.has_value(), is_right);
    if (checked) continue;
    EXPECT_THAT(checked.error().message(), testing::ContainsRegex("field '.+' is [0-9]+"));
  }
}

TEST(NodeMessages, malformed_words_of_the_agent_are_refused_by_field) {
  const Geometry geometry({0, 100'000}, 4096);
  const AgentWord good{.number = 9, .splinter = 7, .news = News::kStarved};
  EXPECT_TRUE(check_word(good, geometry, 9));
  const auto message_of = [&](const AgentWord& word) {
    const Status checked = check_word(word, geometry, 9);
    return checked ? std::string() : checked.error().message();
  };
  AgentWord word = good;
  word.number = 10;
  EXPECT_THAT(message_of(word), testing::HasSubstr("field 'number' is 10"));
  word = good;
  word.splinter = geometry.count();
  EXPECT_THAT(message_of(word), testing::HasSubstr("field 'splinter' is 25"));
  word = good;
  word.news = static_cast<News>(4);
  EXPECT_THAT(message_of(word), testing::HasSubstr("field 'news' is 4"));
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
