// SPDX-License-Identifier: Apache-2.0
// Several clients of one agent, and how they affect each other. All tests of sessions also run with
// their tasks as clients of a node's agent; those test the view of one client.
#include <array>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "read/node_testing.hpp"

namespace forebay::read {
namespace {

/// Permissions of the mapping that contains `address`, from /proc/self/maps.
std::string permissions_at(const std::byte* address) {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    std::string permissions;
    words >> std::hex >> first;
    words.ignore(1);
    words >> last >> permissions;
    if (first <= wanted && wanted < last) return permissions;
  }
  return "nowhere";
}

TEST_F(NodeSessions, bytes_that_all_clients_read_are_loaded_once) {
  std::array<TestClient, 3> clients{TestClient(node.name()), TestClient(node.name()),
                                    TestClient(node.name())};
  std::vector<Session> sessions;
  for (TestClient& client : clients)
    sessions.push_back(
        open(client,
             SmallPlan{
                 .slots = 64, .slots_max = 64, .readahead = 64, .eviction = EvictionPolicy::kLru}));
  std::vector<std::jthread> ranks;
  for (const Session& session : sessions)
    ranks.emplace_back([&] { EXPECT_TRUE(reads_words(session, {0, kFileBytes})); });
  ranks.clear();
  for (const Session& session : sessions) {
    const SessionReport report = session.report();
    EXPECT_EQ(report.bytes_read, kFileBytes) << "of the node";
    EXPECT_EQ(report.bytes_served, kFileBytes) << "to this rank";
    EXPECT_EQ(report.private_copies, 0U);
    EXPECT_EQ(report.window_bytes, kFileBytes);
  }
}

TEST_F(NodeSessions, views_are_in_read_only_memory) {
  TestClient client(node.name());
  const Session session = open(client);
  const auto view = result_of(session.view({0, kUnit}));
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->is_copy());
  EXPECT_EQ(permissions_at(view->bytes().data()), "r--s");
}

TEST_F(NodeSessions, closing_in_any_order_releases_memory) {
  const std::uint64_t before = node.windows()->available_bytes();
  TestClient first(node.name());
  TestClient second(node.name());
  for (int round = 0; round < 3; ++round) {
    const Session one = open(first);
    const Session other = open(second);
    EXPECT_TRUE(reads_words(one, {0, 3 * kUnit}));
    TestClient& early = round == 0 ? first : second;
    (round == 0 ? one : other).close();
    const Session& left = round == 0 ? other : one;
    EXPECT_TRUE(reads_words(left, {kUnit, kFileBytes - kUnit}));
    EXPECT_EQ(error_class(result_of((round == 0 ? one : other).view({0, 8}))), ErrorClass::kClosed);
    // A client that opens late, or again, finds the session unchanged.
    const Session again = open(early);
    EXPECT_TRUE(reads_words(again, {0, kFileBytes}));
  }
  EXPECT_TRUE(wait_until([&] { return node.windows()->available_bytes() == before; }));
}

TEST_F(NodeSessions, view_of_a_closed_session_keeps_its_bytes) {
  const std::uint64_t before = node.windows()->available_bytes();
  TestClient client(node.name());
  auto session = std::make_unique<Session>(open(client));
  auto view = result_of(session->view({5 * kUnit, 2 * kUnit}));
  ASSERT_TRUE(view);
  session.reset();
  const Session next = open(client);  // the same number, because the first session has ended
  EXPECT_TRUE(reads_words(next, {0, kFileBytes}));
  EXPECT_TRUE(is_words(view->bytes(), 5 * kUnit));
  next.close();
  EXPECT_LT(node.windows()->available_bytes(), before);
  view->release();
  EXPECT_TRUE(wait_until([&] { return node.windows()->available_bytes() == before; }));
}

TEST_F(NodeSessions, different_extents_for_one_session_are_refused) {
  TestClient first(node.name());
  TestClient second(node.name());
  const Session session = open(first);
  const auto other = second.open(path, {kUnit, kUnit}, SmallPlan{});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_NE(other.error().message().find("extent"), std::string::npos);
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
}

TEST_F(NodeSessions, client_beyond_the_maximum_is_refused) {
  std::vector<std::unique_ptr<TestClient>> clients;
  for (std::uint32_t i = 0; i < kClientsMax; ++i)
    clients.push_back(std::make_unique<TestClient>(node.name()));
  EXPECT_FALSE(NodeClient::connect(node.name(), detail::deadline_after(kTestTimeout)));
  clients.pop_back();
  EXPECT_TRUE(wait_until([&] {
    const auto late = NodeClient::connect(node.name(), detail::deadline_after(kTestTimeout));
    return late.has_value();
  })) << "the row of a client that left is free again";
}

TEST_F(NodeSessions, views_of_one_client_block_no_other) {
  TestClient holder(node.name());
  TestClient reader(node.name());
  const Session held = open(holder, SmallPlan{.slots = 4, .slots_max = 4});
  const Session read = open(reader, SmallPlan{.slots = 4, .slots_max = 4});
  std::vector<View> views;
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto view = result_of(held.view({i * kUnit, kUnit}));
    ASSERT_TRUE(view);
    ASSERT_FALSE(view->is_copy());
    views.push_back(std::move(*view));
  }
  EXPECT_TRUE(reads_words(read, {0, kFileBytes}));
  EXPECT_GT(read.report().private_copies, 0U);
  views.clear();
  EXPECT_TRUE(wait_until([&] {
    const auto view = result_of(read.view({20 * kUnit, kUnit}));
    return view && !view->is_copy();
  }));
}

TEST_F(NodeSessions, no_message_is_lost_when_the_ring_is_full) {
  constexpr std::uint64_t kMany = 3 * kNodeRingEntries;
  const std::string big = directory / "big";
  {
    auto file = storage::open_file(big, {.intent = storage::Intent::kCreate});
    ASSERT_TRUE((*file)->truncate(kMany * kUnit));
  }
  TestClient client(node.name());
  const auto session = client.open(big, {0, kMany * kUnit}, SmallPlan{.slots = 8, .slots_max = 8});
  ASSERT_TRUE(session);
  std::vector<Future<View>> views;
  for (std::uint64_t i = 0; i < kMany; ++i)
    views.push_back(session->view({i * kUnit, 8}));
  for (auto& view : views) {
    const auto got = result_of(view);
    ASSERT_TRUE(got) << got.error().message();
  }
}

}  // namespace
}  // namespace forebay::read
