// SPDX-License-Identifier: Apache-2.0
// A rank that is stopped (SIGSTOP) and goes on later: until then the others read whatever does not
// need it, and what does need it waits without being lost.
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

using read::eventually;

/// "R", "S", "T" ... as the kernel says.
char state_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(in, line);
  const std::size_t name_end = line.rfind(") ");
  return name_end == std::string::npos ? '?' : line[name_end + 2];
}

/// One rank that stops itself, and one that lets it go on. The others are told nothing. A failed
/// ASSERT would end this process, and leave nobody to let the other one go on: none here.
class Stop {
 public:
  Stop(comm::Communicator& ranks, std::uint32_t stopped)
      : ranks_(ranks),
        stopped_(stopped),
        process_(passed_on(ranks, ::getpid(), stopped)),
        waker_((stopped + 1) % ranks.size()) {}

  /// On the stopped rank: returns once it goes on. Elsewhere: once it has stopped.
  void begin() const {
    if (is_stopped_one()) {
      ::raise(SIGSTOP);
    } else {
      EXPECT_TRUE(eventually([&] { return state_of(process_) == 'T'; }));
    }
  }
  bool is_stopped_one() const { return ranks_.rank().number == stopped_; }
  /// After all others have come here, which does not take the stopped one.
  void end() const {
    if (is_stopped_one()) return;
    std::byte done{};
    for (std::uint32_t other = 0; other < ranks_.size(); ++other) {
      const bool comes = other != waker_ && other != stopped_;
      if (is_waker() && comes) {
        EXPECT_TRUE(ranks_.receive({&done, 1}, {other}, kDone).wait());
      }
      if (!is_waker() && ranks_.rank().number == other) {
        EXPECT_TRUE(ranks_.send({&done, 1}, {waker_}, kDone).wait());
      }
    }
    if (is_waker()) ::kill(process_, SIGCONT);
  }

 private:
  static constexpr comm::Tag kDone{7};
  bool is_waker() const { return ranks_.rank().number == waker_; }

  comm::Communicator& ranks_;
  const std::uint32_t stopped_;
  const pid_t process_;
  const std::uint32_t waker_;
};

/// What a rank holds when another one is stopped.
struct Open {
  explicit Open(Site& site, const Reading& reading)
      : file(site.runtime.open(site.path()).value()),
        session(*file.read_session({}, small(reading))) {}
  static ReadPlan small(const Reading& reading) { return reading.plan(16, 4); }

  File file;
  Session session;
};

std::shared_ptr<comm::Communicator> world() { return comm::from_mpi(MPI_COMM_WORLD).value(); }

TEST(StoppedRank, others_read_through_their_agent_while_a_client_of_it_is_stopped) {
  for (const Reading& reading : kReadings) {
    SCOPED_TRACE(reading.name());
    Site site(world());
    if (reading.access == Access::kDirect && !reads_directly(site.path())) continue;
    const Open open(site, reading);
    // It holds memory, and has asked for more, when it is stopped.
    auto held = result_of(open.session.view({site.runtime.rank() * kUnit, kUnit}));
    EXPECT_TRUE(held && is_words(held->bytes(), site.runtime.rank() * kUnit));
    std::vector<std::byte> into(kFileBytes);
    auto outstanding = open.session.read(0, std::span(into));
    const Stop stop(site.ranks, site.last());
    stop.begin();
    if (!stop.is_stopped_one()) {
      EXPECT_TRUE(reads_words(open.session, kWhole));
      EXPECT_TRUE(reads_words(must_read(open.file, reading.plan(4)), kWhole));
    }
    stop.end();
    if (stop.is_stopped_one()) {
      EXPECT_TRUE(reads_words(must_read(open.file, reading.plan(4)), kWhole));
    }
    EXPECT_TRUE(result_of(outstanding) && is_words(into, 0));
    site.meet();
  }
}

TEST(StoppedRank, where_the_agent_is_stopped_others_read_what_is_there_and_get_the_rest_later) {
  for (const Reading& reading : kReadings) {
    SCOPED_TRACE(reading.name());
    Site site(world());
    if (reading.access == Access::kDirect && !reads_directly(site.path())) continue;
    const Open open(site, reading);
    const ReadPlan own = Reading{Agents::kPerRank, reading.access}.plan(8);
    auto held = result_of(open.session.view({3 * kUnit, 2 * kUnit}));
    site.meet();
    const Stop stop(site.ranks, 0);
    stop.begin();
    std::vector<std::byte> into(kFileBytes);
    auto outstanding = open.session.read(0, std::span(into));
    if (!stop.is_stopped_one()) {
      EXPECT_TRUE(held && is_words(held->bytes(), 3 * kUnit));
      EXPECT_TRUE(reads_words(open.session, {3 * kUnit + 5, kUnit})) << "it is there";
    }
    EXPECT_TRUE(reads_words(must_read(open.file, own), kWhole)) << "which needs no other rank";
    stop.end();
    EXPECT_TRUE(result_of(outstanding) && is_words(into, 0));
    EXPECT_TRUE(reads_words(open.session, kWhole));
    site.meet();
  }
}

}  // namespace
}  // namespace forebay
