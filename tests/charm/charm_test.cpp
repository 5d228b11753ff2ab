// SPDX-License-Identifier: Apache-2.0
// The calls of <forebay/charm.hpp> on a message scheduler.
#include <forebay/charm.hpp>
#include <forebay/istream.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/in_process.hpp"
#include "comm/ranks_access.hpp"
#include "runtime/testing.hpp"
#include "scheduler.hpp"

namespace forebay::charm::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using System = TaskSystemOf<TestCallback>;

constexpr std::size_t kWords = 65536;
constexpr std::size_t kBytes = kWords * 8;
constexpr std::size_t kChares = 16384;
constexpr std::size_t kSlice = kBytes / kChares;

/// Calls `receive` with the message where `object` lives.
template <class M, class F>
TestCallback to(std::uint64_t object, F receive) {
  return {object,
          [receive](MessageBuffers& message) mutable { receive(static_cast<M&>(message)); }};
}

/// What a message states about a failure.
struct Failure {
  std::string text = {};
  ErrorClass kind = {};

  Failure() = default;
  explicit Failure(const MessageFields& message) : text(message.error), kind(message.error_class) {}
};

std::string path_of_words() {
  static const auto directory = std::make_unique<TemporaryDirectory>();
  static const std::string path = [] {
    write_words(*directory / "words", kBytes);
    return *directory / "words";
  }();
  return path;
}

/// A scheduler with the object `kMain` on PE 0, which runs code there and waits for messages.
class Machine {
 public:
  static constexpr std::uint64_t kMain = UINT64_MAX;

  explicit Machine(std::size_t processes = 2, std::size_t pes = 2) : scheduler(processes, pes) {
    scheduler.place(kMain, 0);
    for (std::size_t i = 0; i < processes; ++i)
      scheduler.set_runtime(i, [] { return std::make_unique<Runtime>(test_options()); });
  }

  /// Makes `call(callback)` on PE 0 and returns a copy of the fields of its message.
  template <class M, class Call>
  auto answer(Call call) {
    using Fields = decltype(fields_of(std::declval<M&>()));
    auto answered = std::make_shared<std::promise<std::pair<Fields, Failure>>>();
    auto future = answered->get_future();
    scheduler.post(0, [=] {
      call(to<M>(kMain,
                 [=](M& message) { answered->set_value({fields_of(message), Failure(message)}); }));
    });
    if (future.wait_for(std::chrono::minutes(1)) != std::future_status::ready) {
      ADD_FAILURE() << "no message";
      return std::pair<Fields, Failure>{};
    }
    return future.get();
  }
  auto open(const std::string& path, const Options& options = {}) {
    return answer<System::FileReadyMsg>(
        [=](const TestCallback& callback) { charm::open(path, callback, options); });
  }
  auto start(const File& file, std::size_t bytes = kBytes, std::size_t offset = 0) {
    return answer<System::SessionReadyMsg>(
        [=](const TestCallback& callback) { startReadSession(file, bytes, offset, callback); });
  }
  auto read(const Session& session, std::size_t bytes, std::size_t offset) {
    return answer<System::ReadCompleteMsg>(
        [=](const TestCallback& callback) { charm::read(session, bytes, offset, callback); });
  }
  Failure close(const Session& session) {
    return answer<System::ClosedMsg>(
               [=](const TestCallback& callback) { closeReadSession(session, callback); })
        .second;
  }
  Failure close(const File& file) {
    return answer<System::ClosedMsg>(
               [=](const TestCallback& callback) { charm::close(file, callback); })
        .second;
  }
  /// A session over the file of words.
  Session session_of_words() {
    const auto [file, failed] = open(path_of_words());
    EXPECT_THAT(failed.text, IsEmpty());
    const auto [session, not_started] = start(file);
    EXPECT_THAT(not_started.text, IsEmpty());
    return session;
  }

  Scheduler scheduler;

 private:
  static File fields_of(const FileReadyFields& message) { return message.file; }
  static Session fields_of(const SessionReadyFields& message) { return message.session; }
  static std::size_t fields_of(const ReadCompleteFields& message) { return message.bytes; }
  static bool fields_of(const ClosedFields& /*message*/) { return true; }
};

bool are_words(const char* data, std::size_t bytes, std::size_t offset) {
  return is_words(std::as_bytes(std::span(data, bytes)), offset);
}

/// A chare that reads its slice, piece by piece, and moves to the next PE while each read is in
/// progress. Its state is a value, as if it were packed and unpacked.
struct Migrant {
  std::uint64_t number = 0;
  Session session = {};
  std::size_t next = 0;
  std::size_t end = 0;
  std::shared_ptr<std::atomic<int>> bad = {};

  void read_and_move() const {
    constexpr std::size_t kPiece = 1000;
    Scheduler& scheduler = current_scheduler();
    const std::size_t bytes = std::min(kPiece, end - next);
    read(session, bytes, next, to<System::ReadCompleteMsg>(number, [self = *this](auto& message) {
           self.have(message);
         }));
    scheduler.place(number, (current_pe() + 1) % scheduler.pe_count());
  }
  void have(const ReadCompleteFields& message) const {
    if (message.has_failed() || !are_words(message.data, message.bytes, message.offset)) ++*bad;
    Migrant moved = *this;
    moved.next += message.bytes;
    if (moved.next < end) return moved.read_and_move();
    current_scheduler().arrive();
  }
};

void read_slice(const Session& session, std::uint64_t chare, char* memory) {
  const std::size_t offset = chare * kSlice;
  read(session, kSlice, offset, memory + offset,
       to<System::ReadCompleteMsg>(chare, [=](auto& message) {
         EXPECT_STREQ(message.error, "");
         EXPECT_EQ(message.bytes, kSlice);
         EXPECT_EQ(message.offset, offset);
         current_scheduler().arrive();
       }));
}

TEST(CharmTest, reads_of_all_chares_fill_their_memory) {
  Machine machine;
  const Session session = machine.session_of_words();
  std::vector<char> memory(kBytes);
  for (std::uint64_t chare = 0; chare < kChares; ++chare) {
    const std::size_t pe = chare % machine.scheduler.pe_count();
    machine.scheduler.place(chare, pe);
    machine.scheduler.post(
        pe, [&memory, session, chare] { read_slice(session, chare, memory.data()); });
  }
  ASSERT_TRUE(machine.scheduler.wait_for(kChares));
  EXPECT_TRUE(are_words(memory.data(), kBytes, 0));
  EXPECT_THAT(machine.close(session).text, IsEmpty());
  EXPECT_THAT(machine.close(session.getFile()).text, IsEmpty());
}

TEST(CharmTest, chares_that_migrate_during_reads_get_their_bytes) {
  Machine machine(3, 2);
  const Session session = machine.session_of_words();
  constexpr std::size_t kMigrants = 60;
  const auto bad = std::make_shared<std::atomic<int>>(0);
  for (std::uint64_t number = 0; number < kMigrants; ++number) {
    const std::size_t slice = kBytes / kMigrants;
    machine.scheduler.place(number, number % 6);
    machine.scheduler.post(number % 6, [=] {
      Migrant{number, session, number * slice, (number + 1) * slice, bad}.read_and_move();
    });
  }
  ASSERT_TRUE(machine.scheduler.wait_for(kMigrants));
  EXPECT_EQ(bad->load(), 0);
}

TEST(CharmTest, session_beside_others_of_its_file_reads_its_range) {
  Machine machine;
  const auto [file, failed] = machine.open(path_of_words());
  const auto [first, not_started] = machine.start(file, 800, 0);
  const auto [second, not_started_either] = machine.start(file, 80, 8000);
  ASSERT_THAT(not_started_either.text, IsEmpty());
  EXPECT_EQ(second.getOffset(), 8000U);
  EXPECT_EQ(second.getBytes(), 80U);
  EXPECT_FALSE(first == second);
  EXPECT_EQ(machine.read(second, 80, 8000).first, 80U);
  EXPECT_THAT(machine.close(first).text, IsEmpty());
  EXPECT_EQ(machine.read(second, 8, 8072).first, 8U);
}

TEST(CharmTest, session_outlives_the_close_of_its_file) {
  Machine machine;
  const Session session = machine.session_of_words();
  EXPECT_THAT(machine.close(session.getFile()).text, IsEmpty());
  EXPECT_EQ(machine.read(session, 100, 7).first, 100U);
}

void open_words(File& file) {
  charm::open(path_of_words(), to<System::FileReadyMsg>(Machine::kMain, [&file](auto& message) {
                EXPECT_STREQ(message.error, "");
                file = message.file;
                current_scheduler().arrive();
              }));
}

TEST(CharmTest, commands_in_another_order_are_executed_by_number) {
  Machine machine;
  machine.scheduler.reorder_commands();
  std::array<File, 2> files;
  for (File& file : files)
    machine.scheduler.post(0, [&file] { open_words(file); });
  ASSERT_TRUE(machine.scheduler.wait_for(2));
  EXPECT_NE(files[0].number, files[1].number);
}

TEST(CharmTest, open_of_missing_file_delivers_its_error_and_creates_nothing) {
  Machine machine;
  const std::string path = path_of_words() + ".missing";
  const auto [file, failure] = machine.open(path);
  EXPECT_EQ(failure.kind, ErrorClass::kNotFound);
  EXPECT_THAT(failure.text, HasSubstr(path));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(CharmTest, open_that_fails_in_one_process_leaves_the_file_closed_in_all) {
  Machine machine;
  machine.scheduler.set_runtime(1, []() -> Result<std::unique_ptr<Runtime>> {
    return failure({.kind = ErrorClass::kLimit, .operation = "create runtime"});
  });
  const auto [file, failed] = machine.open(path_of_words());
  EXPECT_EQ(failed.kind, ErrorClass::kLimit);
  EXPECT_THAT(failed.text, HasSubstr("create runtime"));
  EXPECT_EQ(machine.start(file).second.kind, ErrorClass::kClosed);
}

TEST(CharmTest, session_past_the_end_delivers_out_of_range) {
  Machine machine;
  const auto [file, failed] = machine.open(path_of_words());
  const auto [session, failure] = machine.start(file, kBytes, 84);
  EXPECT_EQ(failure.kind, ErrorClass::kOutOfRange);
  EXPECT_THAT(failure.text, HasSubstr(path_of_words()));
  EXPECT_EQ(machine.close(session).kind, ErrorClass::kClosed);
}

TEST(CharmTest, read_outside_the_session_delivers_out_of_range) {
  Machine machine;
  const Session session = machine.session_of_words();
  const auto [bytes, failure] = machine.read(session, 16, kBytes - 8);
  EXPECT_EQ(failure.kind, ErrorClass::kOutOfRange);
  EXPECT_EQ(bytes, 0U);
}

TEST(CharmTest, read_of_zero_bytes_and_empty_session_are_complete) {
  Machine machine;
  const Session session = machine.session_of_words();
  EXPECT_THAT(machine.read(session, 0, 100).second.text, IsEmpty());
  const auto [empty, failure] = machine.start(session.getFile(), 0, 8);
  EXPECT_THAT(failure.text, IsEmpty());
  EXPECT_THAT(machine.read(empty, 0, 8).second.text, IsEmpty());
  EXPECT_THAT(machine.close(empty).text, IsEmpty());
}

TEST(CharmTest, read_into_message_beyond_its_limit_delivers_limit) {
  Machine machine;
  const Session session = machine.session_of_words();
  const auto [bytes, failure] = machine.read(session, kMessageBytesMax + 1, 0);
  EXPECT_EQ(failure.kind, ErrorClass::kLimit);
  EXPECT_THAT(failure.text, HasSubstr("pass a destination"));
}

TEST(CharmTest, calls_on_closed_tokens_deliver_closed) {
  Machine machine;
  const Session session = machine.session_of_words();
  const File file = session.getFile();
  EXPECT_THAT(machine.close(session).text, IsEmpty());
  EXPECT_THAT(machine.close(file).text, IsEmpty());
  EXPECT_EQ(machine.read(session, 8, 0).second.kind, ErrorClass::kClosed);
  EXPECT_EQ(machine.close(session).kind, ErrorClass::kClosed);
  EXPECT_EQ(machine.start(file).second.kind, ErrorClass::kClosed);
  EXPECT_EQ(machine.close(file).kind, ErrorClass::kClosed);
}

TEST(CharmTest, scheduler_ends_while_reads_are_in_progress) {
  Machine machine;
  const Session session = machine.session_of_words();
  for (std::size_t i = 0; i < 1000; ++i)
    machine.scheduler.post(i % 4, [session, i] {
      read(session, 8, i * 8, to<System::ReadCompleteMsg>(Machine::kMain, [](auto&) {}));
    });
}

TEST(CharmTest, processes_with_ranks_open_one_session) {
  std::array<std::promise<std::shared_ptr<comm::Communicator>>, 2> communicators;
  std::promise<void> ended;
  std::thread job([&, has_ended = ended.get_future().share()] {
    const Status ran = comm::run_ranks({.count = 2}, [&](const auto& communicator) -> Status {
      communicators[communicator->rank().number].set_value(communicator);
      has_ended.wait();
      return {};
    });
    EXPECT_TRUE(ran);
  });
  {
    Machine machine(2, 2);
    for (std::size_t i = 0; i < 2; ++i)
      machine.scheduler.set_runtime(
          i, [rank = communicators[i].get_future().share()]() -> Result<std::unique_ptr<Runtime>> {
            return std::make_unique<Runtime>(comm::make_ranks(rank.get()), test_options());
          });
    EXPECT_EQ(machine.open(path_of_words() + ".missing").second.kind, ErrorClass::kNotFound);
    const Session session = machine.session_of_words();
    const auto bad = std::make_shared<std::atomic<int>>(0);
    machine.scheduler.place(1, 0);
    machine.scheduler.post(0, [=] { Migrant{1, session, 0, kBytes, bad}.read_and_move(); });
    EXPECT_TRUE(machine.scheduler.wait_for(1));
    EXPECT_EQ(bad->load(), 0);
  }
  ended.set_value();
  job.join();
}

/// Runs `test(reader)` on a user-level thread of PE `pe`.
template <class F>
void with_reader(Machine& machine, const Session& session, std::size_t pe, F test) {
  machine.scheduler.post(pe, [&machine, session, test] {
    machine.scheduler.start_thread([&machine, session, test] {
      BasicFileReader<TestCallback> reader(session);
      test(reader);
      machine.scheduler.arrive();
    });
  });
}

TEST(FileReaderTest, small_reads_of_several_threads_return_the_words) {
  Machine machine;
  const Session session = machine.session_of_words();
  for (std::size_t pe = 0; pe < 4; ++pe)
    for (int thread = 0; thread < 3; ++thread)
      with_reader(machine, session, pe, [](auto& reader) {
        std::array<char, 36> piece;
        for (std::size_t at = 0; at + 36 <= kBytes / 8; at += 36) {
          ASSERT_TRUE(reader.read(piece.data(), 36));
          ASSERT_EQ(reader.gcount(), 36U);
          ASSERT_TRUE(are_words(piece.data(), 36, at));
        }
      });
  EXPECT_TRUE(machine.scheduler.wait_for(12));
}

TEST(FileReaderTest, positions_count_from_the_start_of_the_session) {
  Machine machine;
  const auto [file, failed] = machine.open(path_of_words());
  const auto [session, not_started] = machine.start(file, 20'000, 800);
  with_reader(machine, session, 3, [](auto& reader) {
    std::vector<char> bytes(15'000);
    reader.read(bytes.data(), 10);
    EXPECT_TRUE(are_words(bytes.data(), 10, 800));
    reader.read(bytes.data(), 15'000);  // from the buffer and beyond it
    EXPECT_EQ(reader.gcount(), 15'000U);
    EXPECT_TRUE(are_words(bytes.data(), 15'000, 810));
    reader.seekg(-10, std::ios_base::end).read(bytes.data(), 10);
    EXPECT_TRUE(are_words(bytes.data(), 10, 800 + 19'990));
    reader.seekg(-19'990, std::ios_base::cur);
    EXPECT_EQ(reader.tellg(), 10U);
  });
  EXPECT_TRUE(machine.scheduler.wait_for(1));
}

TEST(FileReaderTest, read_past_the_end_is_short_until_seek) {
  Machine machine;
  const Session session = machine.session_of_words();
  with_reader(machine, session, 1, [](auto& reader) {
    std::array<char, 16> bytes;
    EXPECT_TRUE(!reader.seekg(-8, std::ios_base::end).read(bytes.data(), 16));
    EXPECT_TRUE(reader.eof());
    EXPECT_EQ(reader.gcount(), 8U);
    EXPECT_TRUE(are_words(bytes.data(), 8, kBytes - 8));
    EXPECT_FALSE(reader.error());
    reader.read(bytes.data(), 1);
    EXPECT_EQ(reader.gcount(), 0U);
    EXPECT_TRUE(reader.seekg(0).read(bytes.data(), 16));
    EXPECT_TRUE(are_words(bytes.data(), 16, 0));
  });
  EXPECT_TRUE(machine.scheduler.wait_for(1));
}

TEST(FileReaderTest, seek_outside_the_session_is_an_error) {
  Machine machine;
  const Session session = machine.session_of_words();
  with_reader(machine, session, 0, [](auto& reader) {
    EXPECT_TRUE(!reader.seekg(-1));
    EXPECT_EQ(reader.error()->kind(), ErrorClass::kOutOfRange);
    EXPECT_THAT(reader.error()->message(), HasSubstr("position 0 and offset -1"));
  });
  EXPECT_TRUE(machine.scheduler.wait_for(1));
}

TEST(FileReaderTest, read_of_closed_session_is_an_error) {
  Machine machine;
  const Session session = machine.session_of_words();
  EXPECT_THAT(machine.close(session).text, IsEmpty());
  with_reader(machine, session, 0, [](auto& reader) {
    char byte = 0;
    EXPECT_TRUE(!reader.read(&byte, 1));
    EXPECT_EQ(reader.error()->kind(), ErrorClass::kClosed);
    EXPECT_EQ(reader.gcount(), 0U);
  });
  EXPECT_TRUE(machine.scheduler.wait_for(1));
}

struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Detached read_by_coroutine(Session token) {
  const std::size_t pe = current_pe();
  auto session = System::process().session(token);
  AsyncInputStream in(*session);
  std::vector<char> bytes(5000);
  for (std::size_t at = 0; at < kBytes; at += bytes.size()) {
    const auto done = co_await in.read(bytes).on(System::executor());
    EXPECT_TRUE(done && are_words(bytes.data(), *done, at));
    EXPECT_EQ(current_pe(), pe);
  }
  current_scheduler().arrive();
}

TEST(CharmTest, coroutine_resumes_on_its_pe) {
  Machine machine;
  const Session session = machine.session_of_words();
  for (std::size_t pe = 0; pe < 4; ++pe)
    machine.scheduler.post(pe, [session] { read_by_coroutine(session); });
  EXPECT_TRUE(machine.scheduler.wait_for(4));
}

struct Recorded : Work {
  explicit Recorded(std::vector<int>& into, int number) : order(into), value(number) {
    run = [](Work& work) noexcept {
      auto& self = static_cast<Recorded&>(work);
      self.order.push_back(self.value);
    };
  }
  std::vector<int>& order;
  int value;
};

TEST(PeQueueTest, work_runs_in_the_order_of_posts) {
  PeQueue queue;
  EXPECT_FALSE(queue.poll());
  std::vector<int> order;
  std::vector<Recorded> work;
  for (int i = 0; i < 5; ++i)
    work.emplace_back(order, i);
  for (Recorded& one : work)
    queue.post(one);
  EXPECT_TRUE(queue.poll());
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
  EXPECT_FALSE(queue.poll());
}

}  // namespace
}  // namespace forebay::charm::testing
