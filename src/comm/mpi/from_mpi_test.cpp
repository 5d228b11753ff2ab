// SPDX-License-Identifier: Apache-2.0
// How the MPI implementation uses the application's MPI, MPI's errors and thread levels.
#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "comm/in_process.hpp"
#include "comm/mpi/mpi_call.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/transfer_parts.hpp"
#include "comm/testing.hpp"

namespace {

/// Called for each MPI_Comm_set_errhandler() of the process while it is set.
std::function<void()> on_set_errhandler;

}  // namespace

// Replaces the function of MPI, also for calls of the library.
extern "C" int MPI_Comm_set_errhandler(MPI_Comm mpi_comm, MPI_Errhandler handler) {
  if (on_set_errhandler) on_set_errhandler();
  return PMPI_Comm_set_errhandler(mpi_comm, handler);
}

namespace forebay::comm {
namespace {

CommunicatorPtr world(MpiOptions options = {}) {
  return value_or_throw(from_mpi(MPI_COMM_WORLD, options), "from_mpi");
}

TEST(FromMpi, has_the_ranks_of_the_application) {
  const CommunicatorPtr ranks = world();
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(ranks->rank().number, static_cast<std::uint32_t>(rank));
  EXPECT_EQ(ranks->size(), static_cast<std::uint32_t>(size));
  EXPECT_TRUE(ranks->name().starts_with("mpi: ")) << ranks->name();
}

TEST(FromMpi, does_not_change_the_application_communicator) {
  MPI_Comm application = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &application);
  MPI_Comm_set_errhandler(application, MPI_ERRORS_ARE_FATAL);
  {
    const CommunicatorPtr ranks = value_or_throw(from_mpi(application), "from_mpi");
    int relation = 0;
    MPI_Comm_compare(handle_of(*ranks), application, &relation);
    EXPECT_EQ(relation, MPI_CONGRUENT);  // the same ranks, another communicator

    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(application, &handler);
    EXPECT_TRUE(handler == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Comm_get_errhandler(handle_of(*ranks), &handler);
    EXPECT_TRUE(handler == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
  }
  EXPECT_EQ(MPI_Barrier(application), MPI_SUCCESS);
  MPI_Comm_free(&application);
}

TEST(FromMpi, does_not_receive_messages_of_the_application) {
  const CommunicatorPtr ranks = world();
  const int me = static_cast<int>(ranks->rank().number);
  char theirs = 't';
  MPI_Request sent = MPI_REQUEST_NULL;
  MPI_Isend(&theirs, 1, MPI_CHAR, me, 0, MPI_COMM_WORLD, &sent);
  const Bytes ours = bytes_of("o");
  Bytes got(1);
  MessageRequest receive = ranks->receive(got, ranks->rank(), Tag{0});
  MessageRequest send = ranks->send(ours, ranks->rank(), Tag{0});
  EXPECT_TRUE(receive.wait());
  EXPECT_TRUE(send.wait());
  EXPECT_EQ(text_of(got), "o");
  char got_theirs = 0;
  MPI_Recv(&got_theirs, 1, MPI_CHAR, me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  EXPECT_EQ(got_theirs, 't');
}

int handler_calls = 0;

void count_error(MPI_Comm* where, int* code, ...) {
  EXPECT_NE(*where, MPI_COMM_NULL);
  EXPECT_NE(*code, MPI_SUCCESS);
  ++handler_calls;
}

// A default of MPI_ERRORS_RETURN would hide errors from a program that relies on abort.
TEST(FromMpi, duplicate_for_application_has_its_error_handler) {
  MPI_Comm theirs = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &theirs);
  MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_error, &counting);
  MPI_Comm_set_errhandler(theirs, counting);
  MPI_Errhandler_free(&counting);
  const CommunicatorPtr ours = value_or_throw(from_mpi(theirs), "from_mpi");
  const CommunicatorPtr half =
      value_or_throw(ours->split({.color = ours->rank().number % 2}), "split");
  MPI_Comm_free(&theirs);

  const CommunicatorPtr lent =
      value_or_throw(half->duplicate_for_application(), "duplicate_for_application");
  EXPECT_EQ(lent->size(), half->size());
  handler_calls = 0;
  MPI_Comm_call_errhandler(handle_of(*lent), MPI_ERR_OTHER);
  EXPECT_EQ(handler_calls, 1);
  MPI_Comm_call_errhandler(handle_of(*half), MPI_ERR_OTHER);
  EXPECT_EQ(handler_calls, 1);
}

TEST(FromMpi, refuses_invalid_communicators) {
  const auto ranks = from_mpi(MPI_COMM_NULL);
  ASSERT_FALSE(ranks);
  EXPECT_EQ(ranks.error().kind(), ErrorClass::kInvalidArgument);
}

TEST(FromMpi, refuses_parts_that_mpi_cannot_count) {
  for (const std::uint64_t part_bytes : {std::uint64_t{0}, (std::uint64_t{1} << 30U) + 1}) {
    const auto ranks = from_mpi(MPI_COMM_WORLD, {.part_bytes = part_bytes});
    ASSERT_FALSE(ranks);
    EXPECT_EQ(ranks.error().kind(), ErrorClass::kInvalidArgument);
  }
}

TEST(FromMpi, node_option_places_ranks) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const CommunicatorPtr ranks = world({.node = static_cast<std::uint32_t>(rank) / 2 + 40});
  EXPECT_EQ(ranks->nodes().count(), (ranks->size() + 1) / 2);
  EXPECT_EQ(ranks->nodes().node_of(ranks->rank()).number, ranks->rank().number / 2);
  const CommunicatorPtr copy = value_or_throw(ranks->duplicate(), "duplicate");
  EXPECT_EQ(copy->nodes().count(), ranks->nodes().count());
}

TEST(FromMpi, detects_that_this_machine_is_one_node) { EXPECT_EQ(world()->nodes().count(), 1U); }

TEST(FromMpi, other_implementations_have_no_mpi_handle) {
  EXPECT_TRUE(handle_of(*self_communicator()) == MPI_COMM_NULL);
}

TEST(FromMpi, frees_communicators) {
  const CommunicatorPtr ranks = world();
  // More than an MPI can hold at once; with many ranks that takes long.
  const int count = ranks->size() <= 2 ? 3000 : 30;
  for (int i = 0; i < count; ++i)
    ASSERT_TRUE(ranks->duplicate()) << i;
}

TEST(FromMpi, mpi_error_has_class_and_text) {
  const Error error =
      mpi_error({.operation = "open", .path = "data", .offset_bytes = 7}, MPI_ERR_NO_SUCH_FILE);
  EXPECT_EQ(error.kind(), ErrorClass::kNotFound);
  EXPECT_EQ(error.path(), "data");
  EXPECT_EQ(error.offset_bytes(), 7U);
  EXPECT_TRUE(error.cause().starts_with("MPI error class ")) << error.cause();
  EXPECT_EQ(error.message().find('\n'), std::string::npos);
  EXPECT_EQ(mpi_error({}, MPI_ERR_NO_SPACE).kind(), ErrorClass::kNoSpace);
  EXPECT_EQ(mpi_error({}, MPI_ERR_ACCESS).kind(), ErrorClass::kPermission);
  EXPECT_EQ(mpi_error({}, MPI_ERR_IO).kind(), ErrorClass::kIo);
}

TEST(FromMpi, full_disk_is_recognized_for_every_mpi_error_class) {
  const std::string romio =
      "Other I/O error , error stack: ADIOI_GEN_WRITECONTIG(71): Other I/O "
      "error ";
  struct Case {
    int error_class;
    std::string text;
    int error_number;
  };
  for (const Case& one : std::vector<Case>{
           {MPI_ERR_IO, romio + "No space left on device", ENOSPC},
           {MPI_ERR_IO, romio + "Disk quota exceeded", EDQUOT},
           {MPI_ERR_OTHER, romio + "No space left on device", ENOSPC},
           {MPI_ERR_NO_SPACE, "no space", ENOSPC},
           {MPI_ERR_QUOTA, "quota", EDQUOT},
           {MPI_ERR_IO, romio + "Input/output error", 0},
           {MPI_ERR_ACCESS, "No space left on device", 0},
       }) {
    const Error error = mpi_error_of_class({.operation = "write"}, one.error_class, one.text);
    EXPECT_EQ(error.error_number(), one.error_number) << error.message();
    EXPECT_EQ(error.kind() == ErrorClass::kNoSpace, one.error_number != 0) << error.message();
    EXPECT_TRUE(error.cause().ends_with(": " + one.text)) << error.message();
  }
}

/// The outcome of a call on `ranks` in another thread.
Status call_from_other_thread(const CommunicatorPtr& ranks) {
  Status outcome;
  std::thread other([&] { outcome = ranks->barrier(); });
  other.join();
  return outcome;
}

TEST(FromMpi, another_thread_may_call_only_where_mpi_allows_it) {
  const CommunicatorPtr ranks = world();
  const Status called = call_from_other_thread(ranks);
  if (ranks->thread_support() >= ThreadSupport::kSerialized) {
    EXPECT_TRUE(called);
    return;
  }
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().kind(), ErrorClass::kUnsupported);
  EXPECT_NE(called.error().cause().find(name_of(ranks->thread_support())), std::string::npos);
}

TEST(FromMpi, error_handlers_are_set_under_the_guard_of_mpi_calls) {
  if (mpi_thread_support() != ThreadSupport::kSerialized) return;  // other levels have no lock
  std::vector<std::future<void>> others;
  int calls = 0;
  int unguarded_calls = 0;
  on_set_errhandler = [&] {
    ++calls;
    others.push_back(std::async(std::launch::async, [] {
      EXPECT_TRUE(MpiCallGuard::acquire(ThreadSupport::kSerialized, {.operation = "test"}));
    }));
    if (others.back().wait_for(std::chrono::milliseconds(200)) == std::future_status::ready)
      ++unguarded_calls;
  };
  {
    const CommunicatorPtr ranks = world();
    EXPECT_TRUE(ranks->duplicate());
    EXPECT_TRUE(ranks->duplicate_for_application());
    EXPECT_TRUE(ranks->split({}));
  }
  on_set_errhandler = nullptr;
  EXPECT_GE(calls, 5);
  EXPECT_EQ(unguarded_calls, 0);
}

TEST(TransferParts, cover_a_transfer_without_gap) {
  for (const std::uint64_t total : {0U, 1U, 9U, 10U, 11U, 100U, 101U}) {
    const TransferParts parts(total, 10);
    std::uint64_t reached = 0;
    for (std::uint64_t i = 0; i < parts.count(); ++i) {
      EXPECT_EQ(parts.at(i).first, reached);
      reached += static_cast<std::uint64_t>(parts.at(i).size);
    }
    EXPECT_EQ(reached, total);
    EXPECT_EQ(parts.at(parts.count()).size, 0);
  }
}

/// Standard output is closed during its lifetime.
class ClosedOutput {
 public:
  ClosedOutput() : saved_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) { ::close(STDOUT_FILENO); }
  ~ClosedOutput() {
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  ClosedOutput(const ClosedOutput&) = delete;
  ClosedOutput& operator=(const ClosedOutput&) = delete;

 private:
  const int saved_;
};

TEST(FromMpi, collective_file_avoids_the_descriptor_of_closed_stdout) {
  const CommunicatorPtr ranks = world();
  const SharedDirectory directory(ranks);
  bool is_taken = false;
  {
    const ClosedOutput closed;
    const auto file = value_or_throw(
        ranks->open_file(directory / "data", {.intent = FileIntent::kCreate}), "open");
    is_taken = ::fcntl(STDOUT_FILENO, F_GETFD) >= 0;
  }
  EXPECT_FALSE(is_taken);
}

}  // namespace
}  // namespace forebay::comm
