// SPDX-License-Identifier: Apache-2.0
// A rank that is stopped (SIGSTOP) and resumes later. Until then other ranks read everything that
// does not need it. What needs it waits and is not lost.
#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "comm/mpi/mpi_communicator.hpp"
#include "runtime/testing.hpp"

namespace forebay {
namespace {

using read::wait_until;

/// State of a process as the kernel reports it: "R", "S", "T" ...
char state_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(in, line);
  const std::size_t name_end = line.rfind(") ");
  return name_end == std::string::npos ? '?' : line[name_end + 2];
}

/// One rank that stops, and one that resumes it; the others are not involved. A failed ASSERT would
/// end this process, and then no rank would resume the stopped one: use none here.
class StoppedProcess {
 public:
  StoppedProcess(comm::Communicator& ranks, std::uint32_t stopped)
      : ranks_(ranks),
        stopped_(stopped),
        process_(broadcast_value(ranks, ::getpid(), stopped)),
        resumer_((stopped + 1) % ranks.size()) {}

  /// On the stopped rank: returns once it resumes. Elsewhere: once it has stopped.
  void begin() const {
    if (is_stopped_one()) {
      ::raise(SIGSTOP);
    } else {
      EXPECT_TRUE(wait_until([&] { return state_of(process_) == 'T'; }));
    }
  }
  bool is_stopped_one() const { return ranks_.rank().number == stopped_; }
  /// Resumes the stopped rank once all other ranks have called this.
  void end() const {
    if (is_stopped_one()) return;
    std::byte done{};
    for (std::uint32_t other = 0; other < ranks_.size(); ++other) {
      const bool should_proceed = other != resumer_ && other != stopped_;
      if (is_resumer() && should_proceed) {
        EXPECT_TRUE(ranks_.receive({&done, 1}, {other}, kDone).wait());
      }
      if (!is_resumer() && ranks_.rank().number == other) {
        EXPECT_TRUE(ranks_.send({&done, 1}, {resumer_}, kDone).wait());
      }
    }
    if (is_resumer()) ::kill(process_, SIGCONT);
  }

 private:
  static constexpr comm::Tag kDone{7};
  bool is_resumer() const { return ranks_.rank().number == resumer_; }

  comm::Communicator& ranks_;
  const std::uint32_t stopped_;
  const pid_t process_;
  const std::uint32_t resumer_;
};

/// What a rank has open when another one is stopped.
struct OpenSession {
  explicit OpenSession(RuntimeFixture& fixture, const ReadConfig& config)
      : file(fixture.runtime.open_file(fixture.path()).value()),
        session(*file.read_session({}, small(config))) {}
  static ReadPlan small(const ReadConfig& config) { return config.plan(16, 4); }

  File file;
  Session session;
};

std::shared_ptr<comm::Communicator> world() { return comm::from_mpi(MPI_COMM_WORLD).value(); }

TEST(StoppedRank, others_read_through_agent_while_a_client_is_stopped) {
  for (const ReadConfig& config : kReadConfigs) {
    SCOPED_TRACE(config.name());
    RuntimeFixture fixture(world());
    if (config.access == Access::kDirect && !can_read_directly(fixture.path())) continue;
    const OpenSession open(fixture, config);
    // It holds memory, and has requested more, when it is stopped.
    auto held =
        result_of(open.session.view({fixture.runtime.rank() * kSplinterBytes, kSplinterBytes}));
    EXPECT_TRUE(held && is_words(held->bytes(), fixture.runtime.rank() * kSplinterBytes));
    std::vector<std::byte> into(kFileBytes);
    auto outstanding = open.session.read(0, std::span(into));
    const StoppedProcess stop(fixture.ranks, fixture.last());
    stop.begin();
    if (!stop.is_stopped_one()) {
      EXPECT_TRUE(reads_words(open.session, kWhole));
      EXPECT_TRUE(reads_words(must_open_session(open.file, config.plan(4)), kWhole));
    }
    stop.end();
    if (stop.is_stopped_one()) {
      EXPECT_TRUE(reads_words(must_open_session(open.file, config.plan(4)), kWhole));
    }
    EXPECT_TRUE(result_of(outstanding) && is_words(into, 0));
    fixture.barrier();
  }
}

TEST(StoppedRank, window_is_readable_while_agent_is_stopped_and_rest_follows) {
  for (const ReadConfig& config : kReadConfigs) {
    SCOPED_TRACE(config.name());
    RuntimeFixture fixture(world());
    if (config.access == Access::kDirect && !can_read_directly(fixture.path())) continue;
    const OpenSession open(fixture, config);
    const ReadPlan own = ReadConfig{AgentScope::kPerRank, config.access}.plan(8);
    auto held = result_of(open.session.view({3 * kSplinterBytes, 2 * kSplinterBytes}));
    fixture.barrier();
    const StoppedProcess stop(fixture.ranks, 0);
    stop.begin();
    std::vector<std::byte> into(kFileBytes);
    auto outstanding = open.session.read(0, std::span(into));
    if (!stop.is_stopped_one()) {
      EXPECT_TRUE(held && is_words(held->bytes(), 3 * kSplinterBytes));
      EXPECT_TRUE(reads_words(open.session, {3 * kSplinterBytes + 5, kSplinterBytes}))
          << "it is in the window";
    }
    EXPECT_TRUE(reads_words(must_open_session(open.file, own), kWhole))
        << "this needs no other rank";
    stop.end();
    EXPECT_TRUE(result_of(outstanding) && is_words(into, 0));
    EXPECT_TRUE(reads_words(open.session, kWhole));
    fixture.barrier();
  }
}

}  // namespace
}  // namespace forebay
