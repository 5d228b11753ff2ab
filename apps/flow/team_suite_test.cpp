// SPDX-License-Identifier: Apache-2.0
// What every team must do: run on threads, and on the ranks of an MPI job.
#include <numeric>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "flow/team.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::on_each_team;

/// Messages of different lengths between all ranks.
struct AllToAll {
  explicit AllToAll(Team& of) : team(of) {
    for (std::uint32_t other = 0; other < team.size(); ++other) {
      out.emplace_back(length(team.rank(), other), value(team.rank(), other));
      in.emplace_back(length(other, team.rank()), -1.0);
    }
  }
  static std::size_t length(std::uint32_t from, std::uint32_t to) { return 3 * from + to + 1; }
  static double value(std::uint32_t from, std::uint32_t to) { return 100.0 * from + to; }

  void start() {
    std::vector<OutgoingMessage> sent;
    std::vector<IncomingMessage> expected;
    for (std::uint32_t other = 0; other < team.size(); ++other) {
      if (other == team.rank()) continue;
      sent.push_back({other, out[other]});
      expected.push_back({other, in[other]});
    }
    team.start(sent, expected);
  }

  void expect_all() const {
    for (std::uint32_t other = 0; other < team.size(); ++other) {
      if (other == team.rank()) continue;
      const std::vector<double> wanted(length(other, team.rank()), value(other, team.rank()));
      EXPECT_EQ(in[other], wanted);
    }
  }

  Team& team;
  std::vector<std::vector<double>> out;
  std::vector<std::vector<double>> in;
};

TEST(Team, messages_arrive_at_their_rank) {
  on_each_team([](Team& team) {
    for (int round = 0; round < 20; ++round) {
      AllToAll messages(team);
      messages.start();
      team.finish();
      messages.expect_all();
    }
  });
}

TEST(Team, sums_may_be_gathered_while_messages_travel) {
  on_each_team([](Team& team) {
    AllToAll messages(team);
    messages.start();
    const std::vector<std::uint32_t> ranks = team.gather(team.rank());
    team.finish();
    messages.expect_all();
    std::vector<std::uint32_t> wanted(team.size());
    std::iota(wanted.begin(), wanted.end(), 0U);
    EXPECT_EQ(ranks, wanted);
  });
}

TEST(Team, a_large_message_arrives_whole) {
  on_each_team([](Team& team) {
    const std::uint32_t to = (team.rank() + 1) % team.size();
    const std::uint32_t from = (team.rank() + team.size() - 1) % team.size();
    std::vector<double> out(1U << 18U);
    std::iota(out.begin(), out.end(), team.rank());
    std::vector<double> in(out.size());
    const OutgoingMessage sent{to, out};
    const IncomingMessage expected{from, in};
    const bool is_alone = team.size() == 1;
    team.start(std::span(&sent, is_alone ? 0 : 1), std::span(&expected, is_alone ? 0 : 1));
    team.finish();
    if (is_alone) return;
    std::iota(out.begin(), out.end(), from);
    EXPECT_EQ(in, out);
  });
}

TEST(Team, ranks_may_have_nothing_to_send_and_nothing_to_gather) {
  on_each_team([](Team& team) {
    team.start({}, {});
    team.finish();
    // Only odd ranks have something.
    const auto count_of = [](std::size_t rank) { return rank % 2 * rank; };
    std::vector<std::size_t> sizes;
    std::vector<std::uint32_t> wanted;
    for (std::uint32_t rank = 0; rank < team.size(); ++rank) {
      sizes.push_back(count_of(rank) * sizeof(std::uint32_t));
      wanted.insert(wanted.end(), count_of(rank), rank);
    }
    const std::vector<std::uint32_t> mine(count_of(team.rank()), team.rank());
    std::vector<std::uint32_t> all(wanted.size());
    team.gather_bytes(std::as_bytes(std::span(mine)), sizes,
                      std::as_writable_bytes(std::span(all)));
    EXPECT_EQ(all, wanted);
  });
}

TEST(Team, all_ranks_get_the_failure_of_the_lowest_rank_that_has_one) {
  on_each_team([](Team& team) {
    EXPECT_TRUE(team.agree({}));
    const std::uint32_t failing = team.size() / 2;
    Status mine;
    if (team.rank() >= failing) {
      mine = failure({.kind = ErrorClass::kNoSpace,
                      .operation = "write",
                      .path = "some/file",
                      .offset_bytes = 4096,
                      .error_number = 28,
                      .cause = "rank " + std::to_string(team.rank())});
    }
    const Status agreed = team.agree(mine);
    ASSERT_FALSE(agreed);
    EXPECT_EQ(agreed.error().kind(), ErrorClass::kNoSpace);
    EXPECT_EQ(agreed.error().operation(), "write");
    EXPECT_EQ(agreed.error().path(), "some/file");
    EXPECT_EQ(agreed.error().offset_bytes(), 4096U);
    EXPECT_EQ(agreed.error().error_number(), 28);
    EXPECT_EQ(agreed.error().cause(), "rank " + std::to_string(failing));
    EXPECT_EQ(agreed.error().rank(), team.size() > 1 ? std::optional(failing) : std::nullopt);
  });
}

TEST(Team, a_failure_that_another_rank_has_met_keeps_that_rank) {
  on_each_team([](Team& team) {
    ErrorDetails details{.kind = ErrorClass::kIo, .operation = "write", .rank = 7};
    const Status agreed = team.agree(failure(std::move(details)));
    ASSERT_FALSE(agreed);
    EXPECT_EQ(agreed.error().rank(), 7U);
  });
}

}  // namespace
}  // namespace forebay::flow
