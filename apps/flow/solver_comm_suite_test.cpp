// SPDX-License-Identifier: Apache-2.0
// The contract of SolverComm, tested on threads and on the ranks of an MPI job.
#include <numeric>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "flow/solver_comm.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::for_each_comm;

/// Messages of different lengths between all ranks.
struct AllToAll {
  explicit AllToAll(SolverComm& of) : comm(of) {
    for (std::uint32_t other = 0; other < comm.size(); ++other) {
      out.emplace_back(length(comm.rank(), other), value(comm.rank(), other));
      in.emplace_back(length(other, comm.rank()), -1.0);
    }
  }
  static std::size_t length(std::uint32_t from, std::uint32_t to) { return 3 * from + to + 1; }
  static double value(std::uint32_t from, std::uint32_t to) { return 100.0 * from + to; }

  void start() {
    std::vector<OutgoingMessage> sent;
    std::vector<IncomingMessage> expected;
    for (std::uint32_t other = 0; other < comm.size(); ++other) {
      if (other == comm.rank()) continue;
      sent.push_back({other, out[other]});
      expected.push_back({other, in[other]});
    }
    comm.start_exchange(sent, expected);
  }

  void expect_all() const {
    for (std::uint32_t other = 0; other < comm.size(); ++other) {
      if (other == comm.rank()) continue;
      const std::vector<double> wanted(length(other, comm.rank()), value(other, comm.rank()));
      EXPECT_EQ(in[other], wanted);
    }
  }

  SolverComm& comm;
  std::vector<std::vector<double>> out;
  std::vector<std::vector<double>> in;
};

TEST(SolverComm, messages_arrive_at_their_ranks) {
  for_each_comm([](SolverComm& comm) {
    for (int round = 0; round < 20; ++round) {
      AllToAll messages(comm);
      messages.start();
      comm.finish_exchange();
      messages.expect_all();
    }
  });
}

TEST(SolverComm, gathering_during_an_exchange_works) {
  for_each_comm([](SolverComm& comm) {
    AllToAll messages(comm);
    messages.start();
    const std::vector<std::uint32_t> ranks = comm.allgather(comm.rank());
    comm.finish_exchange();
    messages.expect_all();
    std::vector<std::uint32_t> wanted(comm.size());
    std::iota(wanted.begin(), wanted.end(), 0U);
    EXPECT_EQ(ranks, wanted);
  });
}

TEST(SolverComm, large_message_arrives_complete) {
  for_each_comm([](SolverComm& comm) {
    const std::uint32_t to = (comm.rank() + 1) % comm.size();
    const std::uint32_t from = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<double> out(1U << 18U);
    std::iota(out.begin(), out.end(), comm.rank());
    std::vector<double> in(out.size());
    const OutgoingMessage sent{to, out};
    const IncomingMessage expected{from, in};
    const bool is_alone = comm.size() == 1;
    comm.start_exchange(std::span(&sent, is_alone ? 0 : 1), std::span(&expected, is_alone ? 0 : 1));
    comm.finish_exchange();
    if (is_alone) return;
    std::iota(out.begin(), out.end(), from);
    EXPECT_EQ(in, out);
  });
}

TEST(SolverComm, ranks_may_send_and_gather_nothing) {
  for_each_comm([](SolverComm& comm) {
    comm.start_exchange({}, {});
    comm.finish_exchange();
    // Only odd ranks contribute values.
    const auto count_of = [](std::size_t rank) { return rank % 2 * rank; };
    std::vector<std::size_t> sizes;
    std::vector<std::uint32_t> wanted;
    for (std::uint32_t rank = 0; rank < comm.size(); ++rank) {
      sizes.push_back(count_of(rank) * sizeof(std::uint32_t));
      wanted.insert(wanted.end(), count_of(rank), rank);
    }
    const std::vector<std::uint32_t> local(count_of(comm.rank()), comm.rank());
    std::vector<std::uint32_t> gathered(wanted.size());
    comm.allgatherv(std::as_bytes(std::span(local)), sizes,
                    std::as_writable_bytes(std::span(gathered)));
    EXPECT_EQ(gathered, wanted);
  });
}

TEST(SolverComm, agree_returns_the_error_of_the_lowest_failed_rank) {
  for_each_comm([](SolverComm& comm) {
    EXPECT_TRUE(comm.agree({}));
    const std::uint32_t failing = comm.size() / 2;
    Status local;
    if (comm.rank() >= failing) {
      local = failure({.kind = ErrorClass::kNoSpace,
                       .operation = "write",
                       .path = "some/file",
                       .offset_bytes = 4096,
                       .error_number = 28,
                       .cause = "rank " + std::to_string(comm.rank())});
    }
    const Status agreed = comm.agree(local);
    ASSERT_FALSE(agreed);
    EXPECT_EQ(agreed.error().kind(), ErrorClass::kNoSpace);
    EXPECT_EQ(agreed.error().operation(), "write");
    EXPECT_EQ(agreed.error().path(), "some/file");
    EXPECT_EQ(agreed.error().offset_bytes(), 4096U);
    EXPECT_EQ(agreed.error().error_number(), 28);
    EXPECT_EQ(agreed.error().cause(), "rank " + std::to_string(failing));
    EXPECT_EQ(agreed.error().rank(), comm.size() > 1 ? std::optional(failing) : std::nullopt);
  });
}

TEST(SolverComm, agree_keeps_the_rank_of_a_received_error) {
  for_each_comm([](SolverComm& comm) {
    ErrorDetails details{.kind = ErrorClass::kIo, .operation = "write", .rank = 7};
    const Status agreed = comm.agree(failure(std::move(details)));
    ASSERT_FALSE(agreed);
    EXPECT_EQ(agreed.error().rank(), 7U);
  });
}

}  // namespace
}  // namespace forebay::flow
