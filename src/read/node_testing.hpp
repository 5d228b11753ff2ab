// SPDX-License-Identifier: Apache-2.0
// What tests of a node share: its agent, processes that are its clients, or would be, this program
// once more, and a file that they read. For tests only.
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

/// This test program again, in a process that runs one case, which is disabled otherwise, until it
/// is killed.
class Again {
 public:
  /// `variables` are added to those of the environment, "NAME=value" each.
  explicit Again(const std::string& disabled_case, std::vector<std::string> variables = {}) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    output_ = Descriptor(pipe[0]);
    const Descriptor input(pipe[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
    const std::vector<std::string> words{"test_read", "--gtest_also_run_disabled_tests",
                                         "--gtest_filter=" + disabled_case};
    // This process may have a share of all cases only; the other one has this case.
    for (char** one = environ; *one != nullptr; ++one)
      if (!std::string_view(*one).starts_with("GTEST_")) variables.emplace_back(*one);
    EXPECT_EQ(::posix_spawn(&process_, "/proc/self/exe", &actions, nullptr,
                            pointers_to(words).data(), pointers_to(variables).data()),
              0);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  ~Again() { kill(); }
  Again(const Again&) = delete;
  Again& operator=(const Again&) = delete;

  /// What it prints until `end` is in it; nothing if it ends before that.
  std::optional<std::string> says(std::string_view end) const {
    std::string said;
    std::array<char, 256> some{};
    while (said.find(end) == std::string::npos) {
      const ssize_t got = ::read(output_.get(), some.data(), some.size());
      if (got <= 0) return std::nullopt;
      said.append(some.data(), static_cast<std::size_t>(got));
    }
    return said;
  }
  void signal(int number) const { ::kill(process_, number); }
  /// Returns when it has stopped: from then on it answers nobody.
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
class Node {
 public:
  Node() {
    node_ = NodeAgent::start(kClientsMax, [this](NodeAgent::Order order) {
              return open(std::move(order));
            }).value();
    const std::lock_guard lock(mutex_);  // clients may be fast
    agent_ =
        EngineAgent::start({.choice = storage::BackendChoice::kThreads, .queue_depth = 8}, node_)
            .value();
  }
  ~Node() { stop(); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  std::string name() const { return node_->name(); }
  const std::shared_ptr<WindowPool>& windows() const { return windows_; }
  std::shared_ptr<Agent> agent() {
    const std::lock_guard lock(mutex_);
    return agent_;
  }
  void stop() {
    agent_->stop();
    node_.reset();
  }

 private:
  Result<NodeAgent::Hosted> open(NodeAgent::Order order) {
    auto file = storage::open_descriptor(order.file.get(), order.request.path, {});
    if (!file) return failure(file.error());
    auto host = SessionHost::open({.file = std::move(*file),
                                   .extent = order.request.extent,
                                   .plan = order.request.plan,
                                   .windows = windows_,
                                   .agent = agent(),
                                   .handle = order.request.handle,
                                   .make_books = std::move(order.make_books),
                                   .clients = kClientsMax});
    if (!host) return failure(host.error());
    agent()->serve(*host);
    return NodeAgent::Hosted{.host = std::move(*host)};
  }

  std::shared_ptr<WindowPool> windows_ = std::make_shared<WindowPool>(1_MiB);
  std::shared_ptr<NodeAgent> node_;
  std::mutex mutex_;
  std::shared_ptr<Agent> agent_;
};

/// A process of the node, or what would be one.
class Seat {
 public:
  explicit Seat(const std::string& name)
      : client_(NodeClient::connect(name, detail::deadline_after(kPatience)).value()),
        own_(EngineAgent::start({.choice = storage::BackendChoice::kThreads, .queue_depth = 8})
                 .value()) {}
  ~Seat() {
    client_->stop();
    own_->stop();
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

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
                .line = nullptr,
                .own_agent = [own = own_] { return own; }})
        .map([](std::shared_ptr<SessionGuest> guest) { return HandleAccess::session(guest); });
  }
  EventLoop& loop() { return loop_; }
  void say(const ClientWord& word) const { client_->send(word); }
  /// As another process would that writes into what it shares with the agent: mapped once more.
  void damage_line() const {
    auto shared = client_->line_for_tests().share(shm::Protection::kReadWrite);
    ASSERT_TRUE(shared) << shared.error().message();
    const auto line = shm::SharedMemory::attach(std::move(*shared), NodeLine::bytes(),
                                                shm::Protection::kReadWrite);
    ASSERT_TRUE(line) << line.error().message();
    auto* const words = reinterpret_cast<std::uint64_t*>(line->bytes().data());
    for (std::size_t i = 0; i < line->bytes().size() / sizeof(std::uint64_t); ++i)
      std::atomic_ref(words[i]).store(0x5A5A5A5A5A5A5A5A, std::memory_order_relaxed);
  }

 private:
  EventLoop loop_;
  std::shared_ptr<NodeClient> client_;
  std::shared_ptr<Agent> own_;
};

class NodeSessions : public ::testing::Test {
 protected:
  NodeSessions() { write_words(path, kFileBytes); }
  Session open(Seat& seat, const ReadPlan& plan = SmallPlan{.slots = 8, .slots_max = 8}) {
    auto session = seat.open(path, {0, kFileBytes}, plan);
    EXPECT_TRUE(session) << session.error().message();
    return *session;
  }

  storage::TemporaryFolder folder;
  const std::string path = folder / "words";
  Node node;
};

}  // namespace forebay::read
