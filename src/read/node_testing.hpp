// SPDX-License-Identifier: Apache-2.0
// Shared by tests of a node: its agent, client processes (this program again) or clients in this
// process, and a file that they read. For tests only.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "read/testing.hpp"
#include "storage/testing.hpp"

namespace forebay::read {

inline constexpr std::uint64_t kFileBytes = 64 * kUnit;
inline constexpr std::uint32_t kClientsMax = 4;

/// This test program again, in a process that runs one test, which is disabled otherwise, until it
/// is killed.
class ChildProcess {
 public:
  /// `variables` are added to the environment, "NAME=value" each.
  explicit ChildProcess(const std::string& disabled_case, std::vector<std::string> variables = {}) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    output_ = Descriptor(pipe[0]);
    const Descriptor input(pipe[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
    const std::vector<std::string> words{"test_read", "--gtest_also_run_disabled_tests",
                                         "--gtest_filter=" + disabled_case};
    // The environment of this process may select a shard of the tests; the child must run this one.
    for (char** one = environ; *one != nullptr; ++one)
      if (!std::string_view(*one).starts_with("GTEST_")) variables.emplace_back(*one);
    EXPECT_EQ(::posix_spawn(&process_, "/proc/self/exe", &actions, nullptr,
                            pointers_to(words).data(), pointers_to(variables).data()),
              0);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  ~ChildProcess() { kill(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Its output until it contains `end`; no value if the process ends before that.
  std::optional<std::string> read_output_until(std::string_view end) const {
    std::string output;
    std::array<char, 256> some{};
    while (output.find(end) == std::string::npos) {
      const ssize_t got = ::read(output_.get(), some.data(), some.size());
      if (got <= 0) return std::nullopt;
      output.append(some.data(), static_cast<std::size_t>(got));
    }
    return output;
  }
  void signal(int number) const { ::kill(process_, number); }
  /// Returns when the process has stopped: from then on it replies to no message.
  void stop() const {
    signal(SIGSTOP);
    EXPECT_EQ(::waitpid(process_, nullptr, WUNTRACED), process_);
  }
  void kill() {
    if (process_ <= 0) return;
    signal(SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  static std::vector<char*> pointers_to(const std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (const std::string& word : words)
      pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    return pointers;
  }

  pid_t process_ = -1;
  Descriptor output_;
};

/// The agent of a node, which opens the files that its clients send.
class TestNodeServer {
 public:
  TestNodeServer() {
    node_ = NodeServer::start(kClientsMax, [this](NodeServer::OpenArgs args) {
              return open(std::move(args));
            }).value();
    const std::lock_guard lock(mutex_);  // a client may connect before `agent_` is set
    agent_ =
        EngineAgent::start({.choice = BackendChoice::kThreads, .queue_depth = 8}, node_).value();
  }
  ~TestNodeServer() { stop(); }
  TestNodeServer(const TestNodeServer&) = delete;
  TestNodeServer& operator=(const TestNodeServer&) = delete;

  std::string name() const { return node_->name(); }
  const std::shared_ptr<WindowPool>& windows() const { return windows_; }
  std::shared_ptr<ReadAgent> agent() {
    const std::lock_guard lock(mutex_);
    return agent_;
  }
  void stop() {
    agent_->stop();
    node_.reset();
  }

 private:
  Result<NodeServer::ServedSession> open(NodeServer::OpenArgs args) {
    auto file = storage::open_descriptor(args.file.get(), args.request.path, {});
    if (!file) return failure(file.error());
    auto session = LocalSession::open({.file = std::move(*file),
                                       .extent = args.request.extent,
                                       .plan = args.request.plan,
                                       .windows = windows_,
                                       .agent = agent(),
                                       .handle = args.request.handle,
                                       .create_control_block = std::move(args.create_control_block),
                                       .clients = kClientsMax});
    if (!session) return failure(session.error());
    agent()->notify(*session);
    return NodeServer::ServedSession{.session = std::move(*session)};
  }

  std::shared_ptr<WindowPool> windows_ = std::make_shared<WindowPool>(1_MiB);
  std::shared_ptr<NodeServer> node_;
  std::mutex mutex_;
  std::shared_ptr<ReadAgent> agent_;
};

/// A process of the node, or its equivalent in this process.
class TestClient {
 public:
  explicit TestClient(const std::string& name)
      : client_(NodeClient::connect(name, detail::deadline_after(kTestTimeout)).value()),
        fallback_agent_(
            EngineAgent::start({.choice = BackendChoice::kThreads, .queue_depth = 8}).value()) {}
  ~TestClient() {
    client_->stop();
    fallback_agent_->stop();
  }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  Result<Session> open(const std::string& path,
                       ByteRange extent,
                       const ReadPlan& plan,
                       std::uint64_t number = 0) {
    auto file = storage::open_file(path);
    if (!file) return failure(file.error());
    const auto complete = plan_read({.extent = extent,
                                     .access = Access::kBuffered,
                                     .access_reason = {},
                                     .alignment_bytes = 1,
                                     .available_bytes = 1_MiB},
                                    plan);
    return client_
        ->open({.file = std::move(*file),
                .extent = extent,
                .plan = *complete,
                .executor = &loop_,
                .handle = {.runtime = 1, .number = number},
                .connection = nullptr,
                .fallback_agent = [own = fallback_agent_] { return own; }})
        .map([](std::shared_ptr<MappedSession> session) {
          return HandleAccess::make_session(session);
        });
  }
  EventLoop& loop() { return loop_; }
  void send(const LoadRequest& ring_message) const { client_->send(ring_message); }
  /// As another process would write into the memory that it shares with the agent: mapped again.
  void corrupt_rings() const {
    auto shared = client_->memory_for_testing().share(shm::Protection::kReadWrite);
    ASSERT_TRUE(shared) << shared.error().message();
    const auto connection = shm::SharedMemory::attach(std::move(*shared), ConnectionLayout::bytes(),
                                                      shm::Protection::kReadWrite);
    ASSERT_TRUE(connection) << connection.error().message();
    auto* const words = reinterpret_cast<std::uint64_t*>(connection->bytes().data());
    for (std::size_t i = 0; i < connection->bytes().size() / sizeof(std::uint64_t); ++i)
      std::atomic_ref(words[i]).store(0x5A5A5A5A5A5A5A5A, std::memory_order_relaxed);
  }

 private:
  EventLoop loop_;
  std::shared_ptr<NodeClient> client_;
  std::shared_ptr<ReadAgent> fallback_agent_;
};

class NodeSessions : public ::testing::Test {
 protected:
  NodeSessions() { write_words(path, kFileBytes); }
  Session open(TestClient& client, const ReadPlan& plan = SmallPlan{.slots = 8, .slots_max = 8}) {
    auto session = client.open(path, {0, kFileBytes}, plan);
    EXPECT_TRUE(session) << session.error().message();
    return *session;
  }

  storage::TemporaryDirectory directory;
  const std::string path = directory / "words";
  TestNodeServer node;
};

}  // namespace forebay::read
