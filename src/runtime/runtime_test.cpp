// SPDX-License-Identifier: Apache-2.0
// Runtime and File: files that cannot be opened, invalid sessions, exhausted memory, and resources
// that remain when a Runtime ends.
#include <forebay/runtime.hpp>

#include <atomic>
#include <filesystem>
#include <latch>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/testing.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

using read::is_words;
using read::reads_words;
using read::result_of;
using read::wait_until;
using read::write_words;

class RuntimeTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kFileBytes = 1'000'003;

  RuntimeTest() { write_words(path, kFileBytes); }

  storage::TemporaryDirectory directory;
  std::string path = directory / "words";
};

/// Exits with 0 if a Runtime raises the soft limit of open files, which is 1024 on most systems.
[[noreturn]] void end_with_raised_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max / 2;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const Runtime runtime;
  ::getrlimit(RLIMIT_NOFILE, &limit);
  ::_exit(limit.rlim_cur == limit.rlim_max ? 0 : 1);
}

TEST(RuntimeLimit, soft_limit_of_open_files_is_raised) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process that has created no Runtime
  EXPECT_EXIT(end_with_raised_limit(), testing::ExitedWithCode(0), "");
}

// Files.

TEST_F(RuntimeTest, missing_file_is_not_found_and_not_created) {
  Runtime runtime;
  const auto file = runtime.open_file(directory / "missing");
  ASSERT_EQ(error_class(file), ErrorClass::kNotFound);
  EXPECT_EQ(file.error().path(), directory / "missing");
  EXPECT_FALSE(std::filesystem::exists(directory / "missing"));
}

TEST_F(RuntimeTest, fifo_and_directory_are_rejected_at_once) {
  Runtime runtime;
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(error_class(runtime.open_file(directory / "fifo")), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(runtime.open_file(directory / ".")), ErrorClass::kInvalidArgument);
}

/// In a process without rights: reads a file that is not writable, in a directory that is not
/// writable, and fails to open one that is not readable.
void read_without_rights(const std::string& path, const std::string& unreadable) {
  if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) std::_Exit(10);
  Runtime runtime;
  const auto file = runtime.open_file(path);
  if (!file) std::_Exit(11);
  const auto session = file->read_session();
  if (!session) std::_Exit(12);
  if (!reads_words(*session, session->extent())) std::_Exit(13);
  if (error_class(runtime.open_file(unreadable)) != ErrorClass::kPermission) std::_Exit(14);
  std::_Exit(0);
}

TEST_F(RuntimeTest, read_only_file_in_a_read_only_directory_is_read) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  namespace fs = std::filesystem;
  const std::string inner = directory / "read-only";
  ASSERT_TRUE(fs::create_directory(inner));
  fs::copy_file(path, inner + "/words");
  write_words(inner + "/secret", 10);
  ASSERT_EQ(::chmod((inner + "/words").c_str(), 0444), 0);
  ASSERT_EQ(::chmod((inner + "/secret").c_str(), 0000), 0);
  ASSERT_EQ(::chmod(inner.c_str(), 0555), 0);
  ASSERT_EQ(::chmod((directory / ".").c_str(), 0755), 0);
  EXPECT_EXIT(read_without_rights(inner + "/words", inner + "/secret"),
              ::testing::ExitedWithCode(0), "");
  ASSERT_EQ(::chmod(inner.c_str(), 0755), 0);
}

TEST_F(RuntimeTest, empty_file_has_an_empty_session) {
  write_words(directory / "empty", 0);
  Runtime runtime;
  const auto file = runtime.open_file(directory / "empty");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), 0U);
  const auto session = file->read_session();
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_EQ(session->extent(), (ByteRange{0, 0}));
  EXPECT_TRUE(session->views(session->extent()).is_done());
  EXPECT_EQ(*result_of(session->read(0, std::span<std::byte>())), 0U);
  std::byte one{};
  EXPECT_EQ(error_class(result_of(session->read(0, std::span(&one, 1)))), ErrorClass::kOutOfRange);
}

// Sessions.

TEST_F(RuntimeTest, session_past_the_end_is_rejected_with_the_sizes) {
  Runtime runtime;
  const auto file = runtime.open_file(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), kFileBytes);
  for (const ByteRange extent :
       {ByteRange{0, kFileBytes + 1}, ByteRange{kFileBytes, 1}, ByteRange{kFileBytes + 1, 0},
        ByteRange{kFileBytes + 1, kAll}, ByteRange{1, UINT64_MAX - 1}, ByteRange{UINT64_MAX, 1}}) {
    const auto session = file->read_session(extent);
    ASSERT_EQ(error_class(session), ErrorClass::kOutOfRange) << extent.offset << "+" << extent.size;
    EXPECT_TRUE(message_contains(session.error(), std::to_string(kFileBytes)));
    EXPECT_EQ(session.error().path(), path);
  }
  for (const ByteRange extent : {ByteRange{kFileBytes, 0}, ByteRange{kFileBytes, kAll}}) {
    const auto session = file->read_session(extent);
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_EQ(session->extent(), (ByteRange{kFileBytes, 0}));
  }
  EXPECT_EQ(file->read_session({10, kAll})->extent(), (ByteRange{10, kFileBytes - 10}));
}

// Before, `{}` and an omitted size silently made an empty session.
TEST_F(RuntimeTest, omitted_extent_members_cover_the_rest_of_the_file) {
  Runtime runtime;
  const auto file = runtime.open_file(path);
  ASSERT_TRUE(file);
  constexpr ByteRange kWhole{0, kFileBytes};
  EXPECT_EQ(file->read_session({})->extent(), kWhole);
  EXPECT_EQ(file->read_session({.mode = Mode::kOnDemand})->extent(), kWhole);
  EXPECT_EQ(file->read_session()->extent(), kWhole);
  EXPECT_EQ(file->read_session({}, {.tuning = {.splinter_bytes = 4_KiB}})->extent(), kWhole);
  EXPECT_EQ(file->read_session(Extent{})->extent(), kWhole);
  EXPECT_EQ(file->read_session({.size = 5})->extent(), (ByteRange{0, 5}));
  constexpr ByteRange kRemainder{32, kFileBytes - 32};
  EXPECT_EQ(file->read_session({.offset = 32})->extent(), kRemainder);
  EXPECT_EQ(file->read_session({.offset = 32, .size = kAll})->extent(), kRemainder);
  EXPECT_EQ(file->read_session({.offset = 32, .size = 0})->extent(), (ByteRange{32, 0}));
  EXPECT_EQ(file->read_session(ByteRange{32, 0})->extent(), (ByteRange{32, 0}));
}

TEST_F(RuntimeTest, invalid_plans_are_rejected_by_name) {
  Runtime runtime;
  const auto file = runtime.open_file(path);
  ASSERT_TRUE(file);
  const auto refusal = [&](const ReadPlan& plan) { return file->read_session({0, kAll}, plan); };
  const auto small_budget =
      refusal({.budget_bytes = 64_KiB - 1, .tuning = {.splinter_bytes = 64_KiB}});
  EXPECT_EQ(error_class(small_budget), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(small_budget.error(), "budget_bytes"));
  EXPECT_EQ(small_budget.error().path(), path);
  EXPECT_EQ(small_budget.error().offset_bytes(), 0U);
  for (const std::uint64_t splinter : {std::uint64_t{1}, 2_KiB, 5000_KiB, 1_GiB}) {
    const auto session = refusal({.tuning = {.splinter_bytes = splinter}});
    EXPECT_EQ(error_class(session), ErrorClass::kInvalidArgument) << splinter;
    EXPECT_TRUE(message_contains(session.error(), "splinter_bytes"));
  }
}

// A table with an entry for each splinter would need more memory than everything else.
TEST_F(RuntimeTest, too_many_splinters_are_rejected) {
  ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 43), 0);  // a sparse file of 8 TiB
  Runtime runtime;
  const auto file = runtime.open_file(path);
  ASSERT_TRUE(file);
  const auto session = file->read_session({0, kAll}, {.tuning = {.splinter_bytes = 4_KiB}});
  EXPECT_EQ(error_class(session), ErrorClass::kInvalidArgument);
  const auto by_default = file->read_session();
  ASSERT_TRUE(by_default) << by_default.error().message();
  std::vector<std::byte> into(100);
  EXPECT_TRUE(result_of(by_default->read((1ULL << 43U) - 100, std::span(into))));
  EXPECT_EQ(into, std::vector<std::byte>(100));
}

TEST_F(RuntimeTest, budget_of_a_few_pages_is_enough) {
  Runtime runtime({.budget_bytes = 16_KiB});
  const auto file = runtime.open_file(path);
  const auto session = file->read_session();
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_TRUE(reads_words(*session, {0, kFileBytes}));
  EXPECT_LE(session->report().window_bytes, 16_KiB);
}

TEST_F(RuntimeTest, budget_below_one_splinter_is_rejected) {
  Runtime runtime({.budget_bytes = 1_KiB});
  const auto session = runtime.open_file(path)->read_session();
  ASSERT_FALSE(session);
  EXPECT_TRUE(message_contains(session.error(), "1024")) << session.error().message();
}

TEST_F(RuntimeTest, used_up_budget_is_a_limit_and_is_returned) {
  Runtime runtime({.budget_bytes = 256_KiB});
  const auto file = runtime.open_file(path);
  const ReadPlan plan{.budget_bytes = 64_KiB,
                      .tuning = {.splinter_bytes = 16_KiB, .window_bytes = 64_KiB}};
  std::vector<Session> sessions;
  for (int i = 0; i < 4; ++i) {
    auto session = file->read_session({0, kAll}, plan);
    ASSERT_TRUE(session) << session.error().message();
    sessions.push_back(std::move(*session));
  }
  const auto refused = file->read_session({0, kAll}, plan);
  ASSERT_EQ(error_class(refused), ErrorClass::kLimit);
  EXPECT_TRUE(message_contains(refused.error(), "budget")) << refused.error().message();
  EXPECT_EQ(refused.error().path(), path);
  EXPECT_TRUE(reads_words(sessions.back(), {0, kFileBytes}));
  sessions.erase(sessions.begin());
  EXPECT_TRUE(wait_until([&] { return file->read_session({0, kAll}, plan).has_value(); }));
}

// Before, the fifth session failed: four windows of 16 MiB took the whole budget.
TEST_F(RuntimeTest, many_sessions_on_large_files_share_the_default_budget) {
  constexpr int kSessions = 32;
  const auto large = static_cast<off_t>(256_MiB);
  ASSERT_EQ(::truncate(path.c_str(), large), 0);  // words, then a hole
  for (const Access access : {Access::kBuffered, Access::kDirect}) {
    Runtime runtime;
    const auto file = runtime.open_file(path);
    ASSERT_TRUE(file);
    std::vector<std::jthread> threads;
    std::atomic<int> opened{0};
    std::latch all_open(kSessions);
    for (int i = 0; i < kSessions; ++i) {
      threads.emplace_back([&] {
        const auto session = file->read_session({}, {.access = access});
        all_open.arrive_and_wait();
        if (!session) {
          EXPECT_EQ(error_class(session), ErrorClass::kUnsupported) << session.error().message();
          return;
        }
        ++opened;
        EXPECT_TRUE(reads_words(*session, {0, kFileBytes / 4}));
      });
    }
    threads.clear();
    EXPECT_TRUE(opened == 0 || opened == kSessions) << opened;
    EXPECT_TRUE(opened > 0 || access == Access::kDirect);
  }
}

TEST_F(RuntimeTest, many_files_and_sessions_share_a_small_budget) {
  Runtime runtime({.budget_bytes = 1_MiB});
  std::vector<Session> sessions;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const std::string one = directory / std::to_string(i);
    write_words(one, 10'000 + i * 3001);
    const auto file = runtime.open_file(one);
    ASSERT_TRUE(file);
    for (const ByteRange extent : {ByteRange{0, kAll}, ByteRange{i * 100, kAll}}) {
      auto session =
          file->read_session(extent, {.tuning = {.splinter_bytes = 4_KiB, .window_bytes = 8_KiB}});
      ASSERT_TRUE(session) << session.error().message();
      sessions.push_back(std::move(*session));
    }
  }
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = thread % 2; i < sessions.size(); i += 2)
        EXPECT_TRUE(reads_words(sessions[i], sessions[i].extent()));
    });
  }
}

// The log.

class RecordingLog final : public LogSink {
 public:
  void write(LogLevel level, std::string_view line) noexcept override {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::string(name_of(level)) + " " + std::string(line));
  }
  /// The lines since the last call.
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(RuntimeTest, each_session_logs_access_and_reason) {
  RecordingLog log;
  Runtime runtime({.log = &log});
  const auto file = runtime.open_file(path);
  ASSERT_TRUE(file);
  EXPECT_TRUE(log.take().empty());
  {
    const auto chosen = file->read_session();
    ASSERT_TRUE(chosen) << chosen.error().message();
    EXPECT_TRUE(reads_words(*chosen, {0, kFileBytes}));
    const std::string& reason = chosen->plan().reason;
    EXPECT_TRUE(reason.starts_with("buffered: ")) << reason;  // because the file is short
    EXPECT_EQ(log.take(), std::vector{"info " + path + ": " + reason});
  }
  const auto given = file->read_session({}, {.access = Access::kBuffered});
  ASSERT_TRUE(given) << given.error().message();
  EXPECT_EQ(log.take(), std::vector{"info " + path + ": buffered: access as given"});
}

TEST_F(RuntimeTest, direct_session_logs_its_access) {
  RecordingLog log;
  Runtime runtime({.log = &log, .tuning = {.backend = BackendChoice::kThreads}});
  const auto session = runtime.open_file(path)->read_session({}, {.access = Access::kDirect});
  if (!session) GTEST_SKIP() << session.error().message();
  EXPECT_EQ(log.take(), std::vector{"info " + path + ": direct: access as given"});
}

TEST_F(RuntimeTest, rejected_session_logs_nothing) {
  RecordingLog log;
  Runtime runtime({.log = &log});
  const auto file = runtime.open_file(path);
  EXPECT_FALSE(file->read_session({.offset = kFileBytes + 1}));
  EXPECT_FALSE(file->read_session({}, {.tuning = {.splinter_bytes = 1}}));
  EXPECT_TRUE(log.take().empty());
}

// Lifetimes.

TEST_F(RuntimeTest, runtimes_and_sessions_leak_no_descriptors) {
  const auto live_once = [&] {
    Runtime runtime;
    const auto file = runtime.open_file(path);
    const auto buffered = file->read_session({0, kAll}, {.access = Access::kBuffered});
    const auto direct = file->read_session({0, kAll}, {.access = Access::kDirect});
    EXPECT_TRUE(reads_words(*buffered, {5, 100'000}));
    EXPECT_TRUE(!direct || reads_words(*direct, {5, 100'000}));
  };
  live_once();
  const std::size_t before = open_descriptor_count();
  for (int i = 0; i < 20; ++i)
    live_once();
  EXPECT_EQ(open_descriptor_count(), before);
}

// Before, the entry that finds a session by its handle kept its file open.
TEST_F(RuntimeTest, sessions_leak_no_descriptors_while_their_runtime_exists) {
  Runtime runtime;
  const auto live_once = [&] {
    const auto file = runtime.open_file(path);
    for (const Access access : {Access::kBuffered, Access::kDirect}) {
      const auto session = file->read_session({}, {.access = access});
      EXPECT_TRUE(!session || reads_words(*session, {5, 100'000}));
    }
  };
  // Objects that are created on first use, also by threads, exist after a few rounds.
  for (int i = 0; i < 20; ++i)
    live_once();
  const std::size_t before = open_descriptor_count();
  for (int i = 0; i < 50; ++i)
    live_once();
  constexpr std::size_t kWindowsKept = 4;
  EXPECT_TRUE(wait_until([&] { return open_descriptor_count() <= before + kWindowsKept; }));
}

TEST_F(RuntimeTest, unused_runtime_leaks_no_descriptor) {
  {
    const Runtime first;
  }
  const std::size_t before = open_descriptor_count();
  for (int i = 0; i < 100; ++i)
    const Runtime runtime;
  EXPECT_EQ(open_descriptor_count(), before);
}

class RuntimeShutdownTest : public RuntimeTest, public ::testing::WithParamInterface<Access> {};

TEST_P(RuntimeShutdownTest, requests_in_flight_are_closed_without_hanging) {
  for (int round = 0; round < 30; ++round) {
    std::vector<std::byte> memory(kFileBytes);
    std::vector<Future<ByteCount>> reads;
    std::vector<Future<View>> views;
    std::optional<Session> session;
    std::jthread waiter;
    std::optional<Runtime> runtime;
    runtime.emplace(RuntimeOptions{.budget_bytes = 256_KiB});
    {
      const auto file = runtime->open_file(path);
      auto made = file->read_session({0, kAll},
                                     {.access = GetParam(), .tuning = {.splinter_bytes = 4_KiB}});
      if (!made) GTEST_SKIP() << made.error().message();
      session = std::move(*made);
    }
    for (std::uint64_t at = 0; at + 50'000 <= kFileBytes; at += 50'000) {
      reads.push_back(session->read(at, std::span(memory).subspan(at, 50'000)));
      views.push_back(session->view({at, 10'000}));
    }
    waiter = std::jthread([last = std::move(reads.back())]() mutable {
      const auto got = result_of(last);
      EXPECT_TRUE(got || error_class(got) == ErrorClass::kClosed);
    });
    reads.pop_back();
    if (round % 2 == 0) std::this_thread::yield();
    runtime.reset();
    for (auto& read : reads) {
      const auto got = result_of(read);
      EXPECT_TRUE(got || error_class(got) == ErrorClass::kClosed);
    }
    for (auto& view : views) {
      const auto got = result_of(view);
      EXPECT_TRUE(got ? is_words(got->bytes(), got->range().offset)
                      : ::testing::AssertionResult(error_class(got) == ErrorClass::kClosed));
    }
    EXPECT_EQ(error_class(result_of(session->view({0, 10}))), ErrorClass::kClosed);
  }
}

/// Reads the whole extent repeatedly, on an executor of the program.
Detached read_until_closed(Session session, std::atomic<int>& alive) {
  std::vector<std::byte> into(30'000);
  std::uint64_t at = 0;
  while (true) {
    const auto got = co_await session.read(at, std::span(into));
    if (!got) break;
    EXPECT_TRUE(is_words(into, at));
    at = (at + into.size()) % (session.extent().size - into.size());
  }
  --alive;
}

// A task that copies for itself notifies other helpers. Before, it could do so after they had been
// destroyed.
TEST_P(RuntimeShutdownTest, tasks_and_threads_that_copy_for_themselves_end_with_it) {
  for (int round = 0; round < 30; ++round) {
    EventLoop loop;
    std::atomic<int> alive{3};
    std::jthread waiter;
    std::jthread loop_thread([&] {
      while (alive > 0)
        loop.wait();
    });
    {
      Runtime runtime({.budget_bytes = 256_KiB, .executor = &loop});
      auto session = runtime.open_file(path)->read_session(
          {0, kAll}, {.access = GetParam(), .tuning = {.splinter_bytes = 4_KiB}});
      if (!session) alive = 0;
      loop.interrupt();
      if (!session) GTEST_SKIP() << session.error().message();
      for (int i = 0; i < 3; ++i)
        read_until_closed(*session, alive);
      waiter = std::jthread([own = *session] {
        std::vector<std::byte> into(kFileBytes);
        while (result_of(own.read(0, std::span(into)))) {
        }
      });
      if (round % 3 > 0) std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
    }
    EXPECT_TRUE(wait_until([&] { return alive == 0; }));
    loop.interrupt();
  }
}

TEST_P(RuntimeShutdownTest, views_stay_valid_and_unchanged) {
  std::vector<View> held;
  {
    Runtime runtime;
    const auto session = runtime.open_file(path)->read_session(
        {0, kAll},
        {.access = GetParam(), .budget_bytes = 16_KiB, .tuning = {.splinter_bytes = 4_KiB}});
    if (!session) GTEST_SKIP() << session.error().message();
    for (std::uint64_t i = 0; i < 10; ++i) {
      auto view = result_of(session->view({i * 5000 + 1, 5000}));
      ASSERT_TRUE(view) << view.error().message();
      held.push_back(std::move(*view));
    }
  }
  for (const View& view : held)
    EXPECT_TRUE(is_words(view.bytes(), view.range().offset));
}

INSTANTIATE_TEST_SUITE_P(Accesses,
                         RuntimeShutdownTest,
                         ::testing::Values(Access::kBuffered, Access::kDirect),
                         [](const ::testing::TestParamInfo<Access>& tested) {
                           return std::string(name_of(tested.param));
                         });

}  // namespace
}  // namespace forebay
