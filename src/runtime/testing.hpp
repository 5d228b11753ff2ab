// SPDX-License-Identifier: Apache-2.0
// What tests of a Runtime with ranks share: a file that all ranks see, a Runtime on each of them,
// and the ways in which several ranks read one file. For tests only.
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

inline constexpr std::uint64_t kUnit = 4096;          ///< a splinter, in most plans
inline constexpr std::uint64_t kFileBytes = 400'003;  ///< of the file of most tests
inline constexpr ByteRange kWhole{0, kFileBytes};

/// Bytes from one rank to all others, as an application would send a task.
template <class T>
T passed_on(comm::Communicator& ranks, T value, std::uint32_t from) {
  static_assert(std::is_trivially_copyable_v<T>);
  EXPECT_TRUE(ranks.broadcast(std::as_writable_bytes(std::span(&value, 1)), {from}));
  return value;
}

/// Where ranks are: a folder with a file of words that all of them see. Made by all.
struct Place {
  explicit Place(const Communicator& communicator, std::uint64_t size_bytes = kFileBytes)
      : ranks(*communicator), folder(communicator) {
    if (is_first()) write_words(path(), size_bytes);
    meet();
  }
  std::string path() const { return folder / "words"; }
  bool is_first() const { return ranks.rank() == comm::Rank{0}; }
  /// No rank goes on before all have come.
  void meet() const { EXPECT_TRUE(ranks.barrier()); }
  /// Whether it is so, which is not 0, on all ranks.
  bool everywhere(std::uint64_t here) const {
    const auto least = ranks.all_reduce(comm::Reduction::kMin, std::min<std::uint64_t>(here, 1));
    return least && *least == 1;
  }

  comm::Communicator& ranks;
  comm::SharedFolder folder;
};

// liburing maps rings where the thread sanitizer does not look: what lies where something else did
// looks like a race of the two. Tests of storage, which make few rings, have them sanitized.
inline constexpr bool kMakesRings = !kThreadSanitizer;

inline RuntimeOptions tested(RuntimeOptions options = {}) {
  if (!kMakesRings) options.engine = EngineChoice::kThreads;
  return options;
}

/// A place, and a Runtime on each rank.
struct Site : Place {
  explicit Site(const Communicator& communicator, const RuntimeOptions& options = {})
      : Place(communicator), runtime(Ranks(communicator), tested(options)) {}
  std::uint32_t last() const { return runtime.rank_count() - 1; }

  Runtime runtime;
};

template <class F>
void on_each_site(F test) {
  comm::MakeTest::on_all_ranks([&](const Communicator& communicator) {
    Site site(communicator);
    test(site);
  });
}

/// Who reads for several ranks, and past the page cache or not.
struct Reading {
  Agents agents = Agents::kPerRank;
  Access access = Access::kBuffered;

  std::string name() const {
    return std::string(name_of(agents)) + ", " + std::string(name_of(access));
  }
  /// A plan of so many splinters of 4 KiB in memory, and no reading ahead unless it says so.
  ReadPlan plan(std::uint64_t slots, std::uint64_t eager_splinters = 0) const {
    return {.access = access,
            .splinter_bytes = kUnit,
            .budget_bytes = slots * kUnit,
            .window_bytes = slots * kUnit,
            .eager_bytes = eager_splinters * kUnit,
            .agents = agents};
  }
};

inline constexpr std::array<Reading, 4> kReadings{{{Agents::kPerRank, Access::kBuffered},
                                                   {Agents::kPerRank, Access::kDirect},
                                                   {Agents::kPerNode, Access::kBuffered},
                                                   {Agents::kPerNode, Access::kDirect}}};

/// Whether files of this folder can be read past the page cache.
inline bool reads_directly(const std::string& path) {
  return storage::open_file(path, {.access = Access::kDirect}).has_value();
}

/// Runs `test(communicator, reading)` on all ranks, once for each reading that is possible here;
/// RanksSuite.files_of_tests_can_be_read_directly is skipped where not all are.
template <class F>
void on_each_reading(F test) {
  comm::MakeTest::on_all_ranks([&](const Communicator& communicator) {
    const bool direct = [&] {
      const Place place(communicator);
      return reads_directly(place.path());
    }();
    for (const Reading& reading : kReadings) {
      if (reading.access == Access::kDirect && !direct) continue;
      SCOPED_TRACE(reading.name());
      test(communicator, reading);
    }
  });
}

/// A session that must be there.
inline Session must_read(const Result<File>& file, const ReadPlan& plan, Extent extent = {}) {
  EXPECT_TRUE(file) << (file ? "" : file.error().message());
  auto session = file.value().read_session(extent, plan);
  EXPECT_TRUE(session) << (session ? "" : session.error().message());
  return session.value();
}

/// A session that all ranks open at the same attempt: memory of others may come back a little
/// later on one rank than on another.
inline std::optional<Session> open_together(const Place& place,
                                            const File& file,
                                            const ReadPlan& plan) {
  std::optional<Session> session;
  const bool opened = read::eventually([&] {
    auto made = file.read_session({}, plan);
    const bool all_did = place.everywhere(made.has_value());
    if (all_did) session.emplace(std::move(*made));
    return all_did;
  });
  return opened ? session : std::nullopt;
}

/// A place with a larger file, where some ranks are given to I/O.
struct Camp : Place {
  static constexpr std::uint64_t kFileBytes = 3'000'001;
  explicit Camp(const Communicator& communicator) : Place(communicator, kFileBytes) {}
};

/// Keeps the warnings that a Runtime writes.
class Warnings final : public LogSink {
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

/// What a Runtime of several ranks must do, whoever makes them.
class RanksSuite : public comm::MakeTest {};

/// What ranks must do of which some are given to I/O.
class DedicatedSuite : public comm::MakeTest {
 protected:
  void TearDown() override { EXPECT_EQ(read::lost_sends(), 0U); }
};

}  // namespace forebay
