// SPDX-License-Identifier: Apache-2.0
// Two ranks of one node: functions on the node's agent, and writes, when a rank does what it should
// not, or when the agent ends. Ranks are threads here.
#include <forebay/runtime.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/in_process.hpp"
#include "comm/ranks_access.hpp"
#include "read/testing.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

using read::reads_words;
using read::wait_until;

constexpr std::uint64_t kFileOfNodeBytes = 16'000'000;

ReadPlan plan_on_demand() {
  ReadPlan plan;
  plan.mode = Mode::kOnDemand;
  plan.pre_execution_mode = PreExecutionMode::kAgent;
  plan.tuning.splinter_bytes = 16_KiB;
  plan.readahead_bytes = 1_MiB;
  return plan;
}

/// Rank 0 has the agent.
class NodeAgent : public ::testing::Test {
 protected:
  NodeAgent() { read::write_words(path, kFileOfNodeBytes); }

  template <class F>
  void on_ranks(F test) {
    const auto outcome = comm::run_ranks(
        {.count = 2, .per_node = 2},
        [&](const std::shared_ptr<comm::Communicator>& ranks) -> Status {
          auto runtime = std::make_unique<Runtime>(comm::make_ranks(ranks), RuntimeOptions{});
          test(runtime, *ranks);
          return ranks->barrier();
        });
    EXPECT_TRUE(outcome) << outcome.error().message();
  }
  /// Both ranks register `factory`, and rank 1 calls `test` with its session.
  void with_function(const NextReadFactory& factory, const std::function<void(Session&)>& test) {
    on_ranks([&](std::unique_ptr<Runtime>& runtime, comm::Communicator& ranks) {
      ASSERT_TRUE(runtime->register_next_reads("function", factory));
      auto session = runtime->open_file(path)->read_session(plan_on_demand());
      ASSERT_TRUE(session) << session.error().message();
      ASSERT_TRUE(ranks.barrier());
      if (ranks.rank().number == 1) test(*session);
    });
  }

  storage::TemporaryDirectory directory;
  const std::string path = directory / "words";
};

// The session of the agent has no observer.
TEST_F(NodeAgent, function_that_gives_hints_gets_an_error) {
  std::promise<std::pair<Status, Status>> hinted;
  const auto hints = [&](const Session& session, std::span<const std::byte>) -> NextRead {
    const std::array<ByteRange, 1> reads{ByteRange{0, 100}};
    hinted.set_value({session.hint(reads), session.preexecute(NextRead())});
    return {};
  };
  with_function(hints, [&](Session& session) {
    ASSERT_TRUE(session.preexecute("function"));
    const auto [hint, function] = hinted.get_future().get();
    ASSERT_FALSE(hint);
    EXPECT_EQ(hint.error().kind(), ErrorClass::kInvalidArgument);
    ASSERT_FALSE(function);
    EXPECT_EQ(function.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(reads_words(session, {0, 100'000}));
  });
}

// The Error that names the function did not fit into a message; the rank waited without end.
TEST_F(NodeAgent, unknown_function_with_a_long_name_fails) {
  with_function([](const Session&, std::span<const std::byte>) { return NextRead(); },
                [&](Session& session) {
                  EXPECT_EQ(session.preexecute(std::string(20'000, '\x01')).error().kind(),
                            ErrorClass::kNotFound);
                  EXPECT_TRUE(session.preexecute("function"));
                });
}

// The push of one long read took the memory and the time of all clients.
TEST_F(NodeAgent, function_that_yields_the_whole_file_pushes_as_far_as_others) {
  const auto all = [](const Session& session, std::span<const std::byte>) {
    return NextRead([extent = session.extent(), is_done = false]() mutable {
      return std::exchange(is_done, true) ? std::nullopt : std::optional(extent);
    });
  };
  with_function(all, [&](Session& session) {
    ASSERT_TRUE(session.preexecute("function"));
    const std::uint64_t ahead = *session.plan().readahead_bytes;
    ASSERT_LT(ahead, kFileOfNodeBytes);
    EXPECT_TRUE(wait_until([&] { return session.report().prefetch.bytes_pushed > 0; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_LE(session.report().prefetch.bytes_pushed, ahead);
  });
}

/// Waits at its end.
struct SlowEnd {
  explicit SlowEnd(std::shared_future<void> until) : released(std::move(until)) {}
  ~SlowEnd() { released.wait_for(std::chrono::seconds(20)); }
  SlowEnd(const SlowEnd&) = delete;
  SlowEnd& operator=(const SlowEnd&) = delete;

  const std::shared_future<void> released;
};

// The agent's thread waited for the end of an earlier function.
TEST_F(NodeAgent, functions_that_end_slowly_do_not_delay_others) {
  std::promise<void> released;
  const auto until = released.get_future().share();
  std::atomic<int> ended{0};
  const auto slow = [&](const Session&, std::span<const std::byte>) {
    return NextRead(
        [&ended, kept = std::make_shared<SlowEnd>(until)]() -> std::optional<ByteRange> {
          ++ended;
          return std::nullopt;
        });
  };
  with_function(slow, [&](Session& session) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 1; i <= 3; ++i) {
      ASSERT_TRUE(session.preexecute("function"));
      ASSERT_TRUE(wait_until([&] { return ended == i; }));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
    released.set_value();
  });
}

// Each took two threads of the agent's process.
TEST_F(NodeAgent, functions_that_do_not_return_are_limited) {
  std::promise<void> released;
  const auto until = released.get_future().share();
  const auto waits = [until](const Session&, std::span<const std::byte>) {
    return NextRead([until]() -> std::optional<ByteRange> {
      until.wait();
      return std::nullopt;
    });
  };
  with_function(waits, [&](Session& session) {
    Status started;
    for (int i = 0; i < 200 && started; ++i)
      started = session.preexecute("function");
    released.set_value();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().kind(), ErrorClass::kLimit);
    EXPECT_TRUE(wait_until([&] { return session.preexecute("function").has_value(); }));
  });
}

// Bytes that views pin stay in the window of an agent that has ended, which discards no more.
TEST_F(NodeAgent, reads_after_the_agents_end_see_what_ranks_write) {
  constexpr ByteRange kWritten{40'000, 60'000};
  on_ranks([&](std::unique_ptr<Runtime>& runtime, comm::Communicator& ranks) {
    auto session = runtime->open_file(path)->read_session(plan_on_demand());
    ASSERT_TRUE(session) << session.error().message();
    ASSERT_TRUE(reads_words(*session, {0, 200'000}));
    auto view = read::result_of(session->view({kWritten.offset, 100}));
    ASSERT_TRUE(view) << view.error().message();
    ASSERT_TRUE(ranks.barrier());
    if (ranks.rank().number == 0) {
      view->release();
      session = failure({.operation = "end"});
      runtime.reset();
      ASSERT_TRUE(ranks.barrier());
      return;
    }
    ASSERT_TRUE(ranks.barrier());
    const std::vector<std::byte> written(kWritten.size, std::byte{7});
    auto out = runtime->create_output_stream();
    auto file = out->create(path, {.existing_content = ExistingContent::kKeep});
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE(out->write(*file, kWritten.offset, written));
    ASSERT_TRUE(out->drain());
    std::vector<std::byte> into(kWritten.size);
    ASSERT_TRUE(session->read(kWritten.offset, into).wait());
    EXPECT_EQ(into, written);
    EXPECT_TRUE(reads_words(*session, {0, kWritten.offset}));
  });
}

}  // namespace
}  // namespace forebay
