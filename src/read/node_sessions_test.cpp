// SPDX-License-Identifier: Apache-2.0
// Several clients of one agent. What one client sees of a session is tested by all tests of
// sessions, which run a second time with their tasks at a node; here is what clients do to each
// other, and what becomes of those that die.
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "read/testing.hpp"
#include "shm/channel.hpp"
#include "storage/testing.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): not in all headers

namespace forebay::read {
namespace {

constexpr std::uint64_t kUnit = SmallPlan::kUnit;
constexpr std::uint64_t kFileBytes = 64 * kUnit;
constexpr std::uint32_t kClientsMax = 4;

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
  Result<std::shared_ptr<SessionHost>> open(NodeAgent::Order order) {
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
    if (host) agent()->serve(*host);
    return host;
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

TEST_F(NodeSessions, clients_whose_agent_ends_read_for_themselves) {
  Seat seat(node.name());
  const Session session = open(seat);
  EXPECT_TRUE(reads_words(session, {0, 3 * kUnit}));
  auto held = result_of(session.view({40 * kUnit, kUnit}));
  ASSERT_TRUE(held);
  node.stop();
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
  EXPECT_TRUE(is_words(held->bytes(), 40 * kUnit));
  const auto again = result_of(session.view({50 * kUnit, 3 * kUnit}));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->is_copy());
  session.close();
  EXPECT_EQ(error_class(result_of(session.view({0, 8}))), ErrorClass::kClosed);
  EXPECT_EQ(error_class(seat.open(path, {0, kUnit}, SmallPlan{}, 1)), ErrorClass::kClosed);
}

/// Takes all descriptors of this process but so many.
class NoDescriptors {
 public:
  explicit NoDescriptors(std::size_t left) {
    for (int taken = ::dup(STDIN_FILENO); taken >= 0; taken = ::dup(STDIN_FILENO))
      taken_.push_back(taken);
    for (; left > 0 && !taken_.empty(); --left) {
      ::close(taken_.back());
      taken_.pop_back();
    }
  }
  ~NoDescriptors() {
    for (const int taken : taken_)
      ::close(taken);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  std::vector<int> taken_;
};

// A message that was lost for want of descriptors counted as the end of its client, whose pins were
// cleared while it held a view: others' bytes came into it.
TEST_F(NodeSessions, a_view_keeps_its_bytes_although_descriptors_run_out) {
  Seat first(node.name());
  Seat second(node.name());
  const Session one = open(first);
  const Session other = open(second);
  const auto view = result_of(one.view({0, kUnit}));
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->is_copy());
  {
    const NoDescriptors none(1);  // for the client's file
    EXPECT_FALSE(first.open(path, {0, kFileBytes}, SmallPlan{}, 7));
  }
  EXPECT_TRUE(reads_words(other, {0, kFileBytes}));
  EXPECT_TRUE(is_words(view->bytes(), 0));
  EXPECT_TRUE(reads_words(one, {0, kFileBytes}));
  const auto again = first.open(path, {0, kFileBytes}, SmallPlan{}, 8);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(reads_words(*again, {0, kFileBytes}));
}

// What processes do.

constexpr const char* kChildNode = "FOREBAY_TEST_NODE";
constexpr const char* kChildFile = "FOREBAY_TEST_FILE";

/// This program again, as a client that holds views until it is killed.
class Holder {
 public:
  Holder(const std::string& node, const std::string& path) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addclose(&actions, pipe[0]);
    const std::string filter = "--gtest_filter=NodeSessionsChild.DISABLED_holds_views";
    const std::array<const char*, 4> words{"test_read", "--gtest_also_run_disabled_tests",
                                           filter.c_str(), nullptr};
    const std::string node_variable = std::string(kChildNode) + "=" + node;
    const std::string file_variable = std::string(kChildFile) + "=" + path;
    std::vector<const char*> variables{node_variable.c_str(), file_variable.c_str()};
    for (char** one = environ; *one != nullptr; ++one)
      variables.push_back(*one);
    variables.push_back(nullptr);
    EXPECT_EQ(::posix_spawn(&process_, "/proc/self/exe", &actions, nullptr,
                            const_cast<char* const*>(words.data()),
                            const_cast<char* const*>(variables.data())),
              0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    output_ = pipe[0];
  }
  ~Holder() {
    kill();
    ::close(output_);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  /// True once it says that it holds its views; false if it ends instead.
  bool holds() const {
    std::string said;
    std::array<char, 256> some{};
    while (said.find("holding") == std::string::npos) {
      const ssize_t got = ::read(output_, some.data(), some.size());
      if (got <= 0) return false;
      said.append(some.data(), static_cast<std::size_t>(got));
    }
    return true;
  }
  void signal(int number) const { ::kill(process_, number); }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_ = -1;
  int output_ = -1;
};

TEST(NodeSessionsChild, DISABLED_holds_views) {
  const char* const node = std::getenv(kChildNode);
  const char* const path = std::getenv(kChildFile);
  ASSERT_NE(node, nullptr);
  ASSERT_NE(path, nullptr);
  Seat seat(node);
  const auto session = seat.open(path, {0, kFileBytes}, SmallPlan{.slots = 4, .slots_max = 4});
  ASSERT_TRUE(session) << session.error().message();
  std::vector<View> views;
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto view = result_of(session->view({i * kUnit, kUnit}));
    ASSERT_TRUE(view);
    views.push_back(std::move(*view));
  }
  std::printf("holding\n");
  std::fflush(stdout);
  ::sleep(120);
}

TEST_F(NodeSessions, what_a_killed_client_held_comes_back) {
  Holder holder(node.name(), path);
  ASSERT_TRUE(holder.holds());
  Seat seat(node.name());
  const Session session = open(seat, SmallPlan{.slots = 4, .slots_max = 4});
  const auto starved = result_of(session.view({20 * kUnit, kUnit}));
  ASSERT_TRUE(starved);
  EXPECT_TRUE(starved->is_copy()) << "the other one holds all memory";
  holder.kill();
  EXPECT_TRUE(eventually([&] {
    const auto view = result_of(session.view({21 * kUnit, kUnit}));
    return view && !view->is_copy();
  }));
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
}

TEST_F(NodeSessions, a_stopped_client_stops_no_other) {
  Holder holder(node.name(), path);
  ASSERT_TRUE(holder.holds());
  holder.signal(SIGSTOP);
  Seat seat(node.name());
  const Session session = open(seat, SmallPlan{.slots = 4, .slots_max = 4});
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
  holder.signal(SIGCONT);
}

// A damaged ring is no death: what its client holds must not be used for others.
TEST_F(NodeSessions, what_a_client_with_a_damaged_ring_holds_stays_its_own) {
  Seat seat(node.name());
  const Session session = open(seat, SmallPlan{.slots = 4, .slots_max = 4});
  auto nonsense = std::make_unique<Seat>(node.name());
  const Session damaged = open(*nonsense, SmallPlan{.slots = 4, .slots_max = 4});
  const auto held = result_of(damaged.view({3 * kUnit, kUnit}));
  ASSERT_TRUE(held);
  ASSERT_FALSE(held->is_copy());
  nonsense->damage_line();
  EXPECT_TRUE(reads_words(damaged, {0, kFileBytes})) << "for itself, from now on";
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
  EXPECT_TRUE(is_words(held->bytes(), 3 * kUnit));
}

TEST_F(NodeSessions, words_without_sense_are_passed_over) {
  Seat seat(node.name());
  const Session session = open(seat, SmallPlan{.slots = 4, .slots_max = 4});
  const auto unit = static_cast<std::uint32_t>(kUnit);
  const ClientWord good{.splinter = 7, .part = {0, unit}, .kind = ClientWord::Kind::kAwait};
  const std::array<ValidBytes, 4> parts{{{5, 5}, {9, 5}, {0, unit + 1}, {unit, unit}}};
  for (const ValidBytes& part : parts) {
    ClientWord word = good;
    word.part = part;
    seat.say(word);
    word.kind = ClientWord::Kind::kWant;
    seat.say(word);
  }
  ClientWord outside = good;
  outside.splinter = 1000000;
  seat.say(outside);
  ClientWord urgent = good;
  urgent.urgency = static_cast<Urgency>(200);
  seat.say(urgent);
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
}

/// A client that knows how to connect, and nothing else.
TEST_F(NodeSessions, a_client_that_talks_nonsense_harms_nobody) {
  Seat seat(node.name());
  const Session session = open(seat);
  auto channel = shm::Channel::connect(node.name(), detail::deadline_after(kPatience));
  ASSERT_TRUE(channel);
  auto welcome = channel->receive(detail::deadline_after(kPatience));
  ASSERT_TRUE(welcome && *welcome);
  auto memory = shm::SharedMemory::attach(std::move((*welcome)->descriptors[0]), NodeLine::bytes(),
                                          shm::Protection::kReadWrite);
  ASSERT_TRUE(memory);
  auto bell = shm::Doorbell::from(std::move((*welcome)->descriptors[2]));
  ASSERT_TRUE(bell);
  const auto nonsense = word_bytes({64, 100});
  ASSERT_TRUE(channel->send(nonsense));
  ASSERT_TRUE(channel->send(to_bytes(Leave{{1, 99}})));
  ASSERT_TRUE(channel->send(to_bytes(Welcome{})));
  auto words = shm::Duplex<ClientWord, AgentWord>::attach(
      NodeLine::to_agent(*memory), NodeLine::to_client(*memory), std::move(*bell));
  ASSERT_TRUE(words);
  ASSERT_EQ(words->try_push({.session = 0, .splinter = 7}), shm::RingOutcome::kDone);
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));

  Random random;
  for (std::byte& byte : NodeLine::to_agent(*memory))
    byte = static_cast<std::byte>(random.below(256));
  ASSERT_TRUE(channel->send(nonsense)) << "so that the agent looks at it";
  // It hangs up on the one, and goes on with the other.
  EXPECT_TRUE(eventually([&] { return !channel->receive(kDoNotBlock); }));
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
}

}  // namespace
}  // namespace forebay::read
