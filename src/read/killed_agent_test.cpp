// SPDX-License-Identifier: Apache-2.0
// Clients whose agent is in a process of its own that is killed, as a rank that is given to I/O may
// be: whatever they wait for at that moment, they read it for themselves or get an Error, and
// nobody hangs. What a whole job does then is in tests/mpi.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "read/node_testing.hpp"
#include "read/testing.hpp"
#include "storage/testing.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): not in all headers

namespace forebay::read {
namespace {

constexpr ByteRange kWholeFile{0, kFileBytes};

/// This program again, as an agent of clients that are elsewhere.
class AgentProcess : public Again {
 public:
  AgentProcess() : Again("KilledAgentChild.DISABLED_serves") {}

  /// What NodeClient::connect() takes; nothing if it ends without saying it.
  std::optional<std::string> name() const {
    const auto said = says(">");
    if (!said) return std::nullopt;
    const std::size_t begin = said->find('<') + 1;
    return said->substr(begin, said->find('>') - begin);
  }
};

TEST(KilledAgentChild, DISABLED_serves) {
  const Node node;
  std::printf("<%s>\n", node.name().c_str());
  std::fflush(stdout);
  ::sleep(120);
}

class KilledAgent : public ::testing::Test {
 protected:
  static constexpr int kSeats = 2;

  KilledAgent() {
    auto file = storage::open_file(path, {.intent = storage::Intent::kCreate});
    EXPECT_TRUE((*file)->write_at(word_bytes(kWholeFile), 0));
    const auto name = agent.name();
    for (int i = 0; name && i < kSeats; ++i)
      seats.push_back(std::make_unique<Seat>(*name));
  }
  void SetUp() override { ASSERT_EQ(seats.size(), kSeats) << "the agent said no name"; }
  Session open(Seat& seat, std::uint64_t number = 0) {
    auto session = seat.open(path, kWholeFile, SmallPlan{.slots = 4, .slots_max = 4}, number);
    EXPECT_TRUE(session) << session.error().message();
    return *session;
  }

  storage::TemporaryFolder folder;
  const std::string path = folder / "words";
  AgentProcess agent;
  std::vector<std::unique_ptr<Seat>> seats;
};

TEST_F(KilledAgent, those_who_wait_for_it_read_for_themselves) {
  std::vector<Session> sessions;
  for (const auto& seat : seats)
    sessions.push_back(open(*seat));
  auto held = result_of(sessions.front().view({3 * kUnit, kUnit}));
  ASSERT_TRUE(held);
  EXPECT_FALSE(held->is_copy());
  agent.stop();
  std::vector<std::vector<std::byte>> into(kSeats, std::vector<std::byte>(kFileBytes));
  std::vector<Future<ByteCount>> reads;
  for (int i = 0; i < kSeats; ++i)
    reads.push_back(sessions[i].read(0, std::span(into[i])));
  EXPECT_FALSE(reads.front().wait_for(std::chrono::milliseconds(20))) << "nobody reads it";
  // One waits as a thread, the other one as a coroutine does.
  std::jthread waiter([&] { EXPECT_TRUE(result_of(reads.back())); });
  bool has_resumed = false;
  std::move(reads.front()).then(seats.front()->loop(), [&](const Result<ByteCount>& got) {
    EXPECT_TRUE(got) << got.error().message();
    has_resumed = true;
  });
  agent.kill();
  EXPECT_TRUE(run_until(seats.front()->loop(), [&] { return has_resumed; }));
  waiter.join();
  for (const auto& bytes : into)
    EXPECT_TRUE(is_words(bytes, 0));
  EXPECT_TRUE(is_words(held->bytes(), 3 * kUnit)) << "its memory lives as long as the view";
  for (const Session& session : sessions)
    EXPECT_TRUE(reads_words(session, kWholeFile));
}

TEST_F(KilledAgent, those_who_open_a_session_at_that_moment_are_told) {
  agent.stop();
  std::vector<std::jthread> openers;
  for (const auto& seat : seats) {
    openers.emplace_back([this, &seat] {
      const auto session = seat->open(path, kWholeFile, SmallPlan{});
      EXPECT_EQ(error_class(session), ErrorClass::kClosed);  // a Runtime reads for itself then
    });
  }
  agent.kill();
  openers.clear();
  for (const auto& seat : seats)
    EXPECT_EQ(error_class(seat->open(path, kWholeFile, SmallPlan{}, 1)), ErrorClass::kClosed);
}

TEST_F(KilledAgent, its_sessions_and_views_end_as_ever) {
  auto session = std::make_unique<Session>(open(*seats.front()));
  const Session other = open(*seats.back());
  auto view = result_of(session->view({0, kUnit}));
  ASSERT_TRUE(view);
  agent.kill();
  session->close();
  EXPECT_EQ(error_class(result_of(session->view({0, 8}))), ErrorClass::kClosed);
  session.reset();
  EXPECT_TRUE(is_words(view->bytes(), 0));
  view->release();
  EXPECT_TRUE(reads_words(other, kWholeFile));
}

TEST_F(KilledAgent, in_the_midst_of_reading_nobody_gets_wrong_bytes) {
  std::atomic<int> rounds{0};
  std::atomic<bool> is_dead{false};
  std::vector<std::jthread> readers;
  for (const auto& seat : seats) {
    readers.emplace_back([&, session = open(*seat)] {
      for (int after = 0; after < 3; after += is_dead ? 1 : 0) {
        ASSERT_TRUE(reads_words(session, {5, kFileBytes - 10}));
        ++rounds;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return rounds >= 2 * kSeats; }));
  agent.kill();
  is_dead = true;
}

}  // namespace
}  // namespace forebay::read
