// SPDX-License-Identifier: Apache-2.0
// What tests of a node share: its agent, processes that are its clients, or would be, and a file
// that they read. For tests only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "read/testing.hpp"
#include "storage/testing.hpp"

namespace forebay::read {

inline constexpr std::uint64_t kUnit = SmallPlan::kUnit;
inline constexpr std::uint64_t kFileBytes = 64 * kUnit;
inline constexpr std::uint32_t kClientsMax = 4;

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
    if (!file) return tl::unexpected<Error>(file.error());
    auto host = SessionHost::open({.file = std::move(*file),
                                   .extent = order.request.extent,
                                   .plan = order.request.plan,
                                   .windows = windows_,
                                   .agent = agent(),
                                   .handle = order.request.handle,
                                   .make_books = std::move(order.make_books),
                                   .clients = kClientsMax});
    if (!host) return tl::unexpected<Error>(host.error());
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
    if (!file) return tl::unexpected<Error>(file.error());
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
  /// As if somebody had written into what it shares with the agent.
  void damage_line() const {
    const std::span<std::byte> line = client_->line_for_tests();
    auto* const words = reinterpret_cast<std::uint64_t*>(line.data());
    for (std::size_t i = 0; i < line.size() / sizeof(std::uint64_t); ++i)
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
