// SPDX-License-Identifier: Apache-2.0
// Several clients of one agent. What one client sees of a session is tested by all tests of
// sessions, which run a second time with their tasks at a node; here is what clients do to each
// other.
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

/// Of the mapping that `address` lies in, as the kernel says.
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

TEST_F(NodeSessions, what_all_read_at_the_same_time_is_read_once) {
  std::array<Seat, 3> seats{Seat(node.name()), Seat(node.name()), Seat(node.name())};
  std::vector<Session> sessions;
  for (Seat& seat : seats)
    sessions.push_back(open(
        seat,
        SmallPlan{.slots = 64, .slots_max = 64, .eager = 64, .retirement = Retirement::kCache}));
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

TEST_F(NodeSessions, views_lie_in_memory_that_cannot_be_written) {
  Seat seat(node.name());
  const Session session = open(seat);
  const auto view = result_of(session.view({0, kUnit}));
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->is_copy());
  EXPECT_EQ(permissions_at(view->bytes().data()), "r--s");
}

TEST_F(NodeSessions, clients_close_in_any_order_and_memory_comes_back) {
  const std::uint64_t before = node.windows()->available_bytes();
  Seat first(node.name());
  Seat second(node.name());
  for (int round = 0; round < 3; ++round) {
    const Session one = open(first);
    const Session other = open(second);
    EXPECT_TRUE(reads_words(one, {0, 3 * kUnit}));
    Seat& early = round == 0 ? first : second;
    (round == 0 ? one : other).close();
    const Session& left = round == 0 ? other : one;
    EXPECT_TRUE(reads_words(left, {kUnit, kFileBytes - kUnit}));
    EXPECT_EQ(error_class(result_of((round == 0 ? one : other).view({0, 8}))), ErrorClass::kClosed);
    // One who comes late, or again, finds it as it was.
    const Session again = open(early);
    EXPECT_TRUE(reads_words(again, {0, kFileBytes}));
  }
  EXPECT_TRUE(eventually([&] { return node.windows()->available_bytes() == before; }));
}

TEST_F(NodeSessions, a_view_of_a_closed_session_keeps_its_bytes) {
  const std::uint64_t before = node.windows()->available_bytes();
  Seat seat(node.name());
  auto session = std::make_unique<Session>(open(seat));
  auto view = result_of(session->view({5 * kUnit, 2 * kUnit}));
  ASSERT_TRUE(view);
  session.reset();
  const Session next = open(seat);  // the same number, as the first has ended
  EXPECT_TRUE(reads_words(next, {0, kFileBytes}));
  EXPECT_TRUE(is_words(view->bytes(), 5 * kUnit));
  next.close();
  EXPECT_LT(node.windows()->available_bytes(), before);
  view->release();
  EXPECT_TRUE(eventually([&] { return node.windows()->available_bytes() == before; }));
}

TEST_F(NodeSessions, clients_that_mean_different_extents_are_told) {
  Seat first(node.name());
  Seat second(node.name());
  const Session session = open(first);
  const auto other = second.open(path, {kUnit, kUnit}, SmallPlan{});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_NE(other.error().message().find("extent"), std::string::npos);
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
}

TEST_F(NodeSessions, one_client_more_than_there_are_seats_is_refused) {
  std::vector<std::unique_ptr<Seat>> seats;
  for (std::uint32_t i = 0; i < kClientsMax; ++i)
    seats.push_back(std::make_unique<Seat>(node.name()));
  EXPECT_FALSE(NodeClient::connect(node.name(), detail::deadline_after(kPatience)));
  seats.pop_back();
  EXPECT_TRUE(eventually([&] {
    const auto late = NodeClient::connect(node.name(), detail::deadline_after(kPatience));
    return late.has_value();
  })) << "a seat that was left is free again";
}

TEST_F(NodeSessions, views_of_one_client_make_no_other_wait) {
  Seat holder(node.name());
  Seat reader(node.name());
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
  EXPECT_TRUE(eventually([&] {
    const auto view = result_of(read.view({20 * kUnit, kUnit}));
    return view && !view->is_copy();
  }));
}

TEST_F(NodeSessions, more_words_than_the_ring_holds_are_none_lost) {
  constexpr std::uint64_t kMany = 3 * kNodeRingWords;
  const std::string big = folder / "big";
  {
    auto file = storage::open_file(big, {.intent = storage::Intent::kCreate});
    ASSERT_TRUE((*file)->truncate(kMany * kUnit));
  }
  Seat seat(node.name());
  const auto session = seat.open(big, {0, kMany * kUnit}, SmallPlan{.slots = 8, .slots_max = 8});
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
