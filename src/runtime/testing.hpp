// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of a Runtime with ranks: a file that all ranks see, a Runtime on each rank, and
// the configurations in which several ranks read one file. For tests only.
#pragma once

#include <forebay/runtime.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/sanitizer.hpp"
#include "comm/ranks_access.hpp"
#include "comm/testing.hpp"
#include "read/node_links.hpp"
#include "read/testing.hpp"
#include "storage/file.hpp"

namespace forebay {

using read::is_words;
using read::reads_words;
using read::result_of;
using read::write_words;

using Communicator = std::shared_ptr<comm::Communicator>;

inline constexpr std::uint64_t kSplinterBytes = 4096;  ///< splinter size in most plans
inline constexpr std::uint64_t kFileBytes = 400'003;   ///< size of the file in most tests
inline constexpr ByteRange kWhole{0, kFileBytes};

/// Sends a value from one rank to all others, as an application would send a task.
template <class T>
T broadcast_value(comm::Communicator& ranks, T value, std::uint32_t from) {
  static_assert(std::is_trivially_copyable_v<T>);
  EXPECT_TRUE(ranks.broadcast(std::as_writable_bytes(std::span(&value, 1)), {from}));
  return value;
}

/// A shared directory with a file of words. Created collectively.
struct SharedFileFixture {
  explicit SharedFileFixture(const Communicator& communicator,
                             std::uint64_t size_bytes = kFileBytes)
      : ranks(*communicator), directory(communicator) {
    if (is_first()) write_words(path(), size_bytes);
    barrier();
  }
  std::string path() const { return directory / "words"; }
  bool is_first() const { return ranks.rank() == comm::Rank{0}; }
  /// Returns when all ranks have called it.
  void barrier() const { EXPECT_TRUE(ranks.barrier()); }
  /// True if `here` is not 0 on all ranks.
  bool is_true_on_all_ranks(std::uint64_t here) const {
    const auto least = ranks.all_reduce(comm::Reduction::kMin, std::min<std::uint64_t>(here, 1));
    return least && *least == 1;
  }

  comm::Communicator& ranks;
  comm::SharedDirectory directory;
};

// liburing maps rings outside the view of the thread sanitizer: a mapping at a reused address looks
// like a race. Tests of storage, which create few rings, have liburing sanitized.
inline constexpr bool kCanUseIoUring = !kThreadSanitizer;

inline RuntimeOptions test_options(RuntimeOptions options = {}) {
  if (!kCanUseIoUring) options.tuning.backend = BackendChoice::kThreads;
  return options;
}

/// The shared file, and a Runtime on each rank.
struct RuntimeFixture : SharedFileFixture {
  explicit RuntimeFixture(const Communicator& communicator, const RuntimeOptions& options = {})
      : SharedFileFixture(communicator),
        runtime(comm::make_ranks(communicator), test_options(options)) {}
  std::uint32_t last() const { return runtime.rank_count() - 1; }

  Runtime runtime;
};

template <class F>
void with_runtime(F test) {
  comm::CommunicatorTest::run_on_all_ranks([&](const Communicator& communicator) {
    RuntimeFixture fixture(communicator);
    test(fixture);
  });
}

/// Which agent reads for several ranks, and the access.
struct ReadConfig {
  AgentScope agents = AgentScope::kPerRank;
  Access access = Access::kBuffered;

  std::string name() const {
    return std::string(name_of(agents)) + ", " + std::string(name_of(access));
  }
  /// A plan with a window of `slots` splinters of 4 KiB. Readahead is off unless given.
  ReadPlan plan(std::uint64_t slots, std::uint64_t eager_splinters = 0) const {
    return {.access = access,
            .budget_bytes = slots * kSplinterBytes,
            .readahead_bytes = eager_splinters * kSplinterBytes,
            .tuning = {.splinter_bytes = kSplinterBytes,
                       .window_bytes = slots * kSplinterBytes,
                       .agent_scope = agents}};
  }
};

inline constexpr std::array<ReadConfig, 4> kReadConfigs{{{AgentScope::kPerRank, Access::kBuffered},
                                                         {AgentScope::kPerRank, Access::kDirect},
                                                         {AgentScope::kPerNode, Access::kBuffered},
                                                         {AgentScope::kPerNode, Access::kDirect}}};

/// True if files of this directory can be read past the page cache.
inline bool can_read_directly(const std::string& path) {
  return storage::open_file(path, {.access = Access::kDirect}).has_value();
}

/// Runs `test(communicator, config)` on all ranks, once for each configuration that works here.
/// RanksSuite.direct_reads_of_test_files_work is skipped if some do not.
template <class F>
void for_each_read_config(F test) {
  comm::CommunicatorTest::run_on_all_ranks([&](const Communicator& communicator) {
    const bool direct = [&] {
      const SharedFileFixture fixture(communicator);
      return can_read_directly(fixture.path());
    }();
    for (const ReadConfig& config : kReadConfigs) {
      if (config.access == Access::kDirect && !direct) continue;
      SCOPED_TRACE(config.name());
      test(communicator, config);
    }
  });
}

/// Opens a session; a failure fails the test.
inline Session must_open_session(const Result<File>& file,
                                 const ReadPlan& plan,
                                 Extent extent = {}) {
  EXPECT_TRUE(file) << (file ? "" : file.error().message());
  auto session = file.value().read_session(extent, plan);
  EXPECT_TRUE(session) << (session ? "" : session.error().message());
  return session.value();
}

/// Opens a session on all ranks in the same attempt: memory of others may be returned a little
/// later on some ranks.
inline std::optional<Session> open_on_all_ranks(const SharedFileFixture& fixture,
                                                const File& file,
                                                const ReadPlan& plan) {
  std::optional<Session> session;
  const bool opened = read::wait_until([&] {
    auto made = file.read_session({}, plan);
    const bool all_did = fixture.is_true_on_all_ranks(made.has_value());
    if (all_did) session.emplace(std::move(*made));
    return all_did;
  });
  return opened ? session : std::nullopt;
}

/// A shared directory with a larger file, for tests with I/O ranks.
struct DedicatedFixture : SharedFileFixture {
  static constexpr std::uint64_t kFileBytes = 3'000'001;
  explicit DedicatedFixture(const Communicator& communicator)
      : SharedFileFixture(communicator, kFileBytes) {}
};

/// Records the warnings of a Runtime.
class WarningLog final : public LogSink {
 public:
  void write(LogLevel level, std::string_view line) noexcept override {
    const std::lock_guard lock(mutex_);
    if (level == LogLevel::kWarning) lines_.emplace_back(line);
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// Behavior of a Runtime with several ranks, for any kind of communicator.
class RanksSuite : public comm::CommunicatorTest {};

/// Sessions with ReadPlan::tune that all ranks open.
class TunedSessionsSuite : public comm::CommunicatorTest {};

/// Behavior with I/O ranks.
class DedicatedSuite : public comm::CommunicatorTest {
 protected:
  void TearDown() override { EXPECT_EQ(read::leaked_sends(), 0U); }
};

}  // namespace forebay
