// SPDX-License-Identifier: Apache-2.0
// Clients whose agent is a separate process that is killed, as an I/O rank may be. Requests that
// wait at that moment are read by the client or get an Error, and none hangs. tests/mpi tests whole
// jobs.
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

/// This program again, as the agent of clients in another process.
class AgentProcess : public ChildProcess {
 public:
  AgentProcess() : ChildProcess("KilledAgentChild.DISABLED_serves") {}

  /// Name for NodeClient::connect(); no value if the process ends before it prints one.
  std::optional<std::string> name() const {
    const auto output = read_output_until(">");
    if (!output) return std::nullopt;
    const std::size_t begin = output->find('<') + 1;
    return output->substr(begin, output->find('>') - begin);
  }
};

TEST(KilledAgentChild, DISABLED_serves) {
  const TestNodeServer node;
  std::printf("<%s>\n", node.name().c_str());
  std::fflush(stdout);
  ::sleep(120);
}

class KilledAgent : public ::testing::Test {
 protected:
  static constexpr int kClients = 2;

  KilledAgent() {
    auto file = storage::open_file(path, {.intent = storage::Intent::kCreate});
    EXPECT_TRUE((*file)->write_at(word_bytes(kWholeFile), 0));
    const auto name = agent.name();
    for (int i = 0; name && i < kClients; ++i)
      clients.push_back(std::make_unique<TestClient>(*name));
  }
  void SetUp() override { ASSERT_EQ(clients.size(), kClients) << "the agent printed no name"; }
  Session open(TestClient& client, std::uint64_t number = 0) {
    auto session = client.open(path, kWholeFile, SmallPlan{.slots = 4, .slots_max = 4}, number);
    EXPECT_TRUE(session) << session.error().message();
    return *session;
  }

  storage::TemporaryDirectory directory;
  const std::string path = directory / "words";
  AgentProcess agent;
  std::vector<std::unique_ptr<TestClient>> clients;
};

TEST_F(KilledAgent, waiting_requests_are_read_by_their_clients) {
  std::vector<Session> sessions;
  for (const auto& client : clients)
    sessions.push_back(open(*client));
  auto held = result_of(sessions.front().view({3 * kUnit, kUnit}));
  ASSERT_TRUE(held);
  EXPECT_FALSE(held->is_copy());
  agent.stop();
  std::vector<std::vector<std::byte>> into(kClients, std::vector<std::byte>(kFileBytes));
  std::vector<Future<ByteCount>> reads;
  for (int i = 0; i < kClients; ++i)
    reads.push_back(sessions[i].read(0, std::span(into[i])));
  EXPECT_FALSE(reads.front().wait_for(std::chrono::milliseconds(20))) << "the agent is stopped";
  // One waits in a thread, the other in a continuation.
  std::jthread waiter([&] { EXPECT_TRUE(result_of(reads.back())); });
  bool has_resumed = false;
  std::move(reads.front()).then(clients.front()->loop(), [&](const Result<ByteCount>& got) {
    EXPECT_TRUE(got) << got.error().message();
    has_resumed = true;
  });
  agent.kill();
  EXPECT_TRUE(run_until(clients.front()->loop(), [&] { return has_resumed; }));
  waiter.join();
  for (const auto& bytes : into)
    EXPECT_TRUE(is_words(bytes, 0));
  EXPECT_TRUE(is_words(held->bytes(), 3 * kUnit)) << "its memory lives as long as the view";
  for (const Session& session : sessions)
    EXPECT_TRUE(reads_words(session, kWholeFile));
}

TEST_F(KilledAgent, pending_opens_fail_with_closed) {
  agent.stop();
  std::vector<std::jthread> openers;
  for (const auto& client : clients) {
    openers.emplace_back([this, &client] {
      const auto session = client->open(path, kWholeFile, SmallPlan{});
      EXPECT_EQ(error_class(session), ErrorClass::kClosed);  // the Runtime then reads on its own
    });
  }
  agent.kill();
  openers.clear();
  for (const auto& client : clients)
    EXPECT_EQ(error_class(client->open(path, kWholeFile, SmallPlan{}, 1)), ErrorClass::kClosed);
}

TEST_F(KilledAgent, sessions_and_views_close_normally) {
  auto session = std::make_unique<Session>(open(*clients.front()));
  const Session other = open(*clients.back());
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

TEST_F(KilledAgent, reads_in_progress_return_right_bytes) {
  std::atomic<int> rounds{0};
  std::atomic<bool> is_dead{false};
  std::vector<std::jthread> readers;
  for (const auto& client : clients) {
    readers.emplace_back([&, session = open(*client)] {
      for (int after = 0; after < 3; after += is_dead ? 1 : 0) {
        ASSERT_TRUE(reads_words(session, {5, kFileBytes - 10}));
        ++rounds;
      }
    });
  }
  EXPECT_TRUE(wait_until([&] { return rounds >= 2 * kClients; }));
  agent.kill();
  is_dead = true;
}

}  // namespace
}  // namespace forebay::read
