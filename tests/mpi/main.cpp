// SPDX-License-Identifier: Apache-2.0
// The main program of every test that runs on several ranks. Each rank runs all tests. Rank 0
// reports as usual, the others only their failures. If one rank fails, all do.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <mpi.h>

namespace {

/// The expectations with which the test was registered.
struct Expected {
  int ranks = 0;
  std::string library;
  int thread_level = MPI_THREAD_MULTIPLE;
};

int level_named(std::string_view name) {
  if (name == "single") return MPI_THREAD_SINGLE;
  if (name == "funneled") return MPI_THREAD_FUNNELED;
  if (name == "serialized") return MPI_THREAD_SERIALIZED;
  return MPI_THREAD_MULTIPLE;
}

/// Parses the `--name=value` words that GoogleTest does not use.
Expected parse(int argc, char** argv) {
  Expected expected;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string_view value = word.substr(word.find('=') + 1);
    if (word.starts_with("--ranks=")) expected.ranks = std::atoi(value.data());
    if (word.starts_with("--library=")) expected.library = value;
    if (word.starts_with("--threads=")) expected.thread_level = level_named(value);
  }
  return expected;
}

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// A launcher of another MPI starts many worlds of one rank, each of which would pass.
bool is_as_expected(const Expected& expected) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const bool right_library = std::string_view(text).find(expected.library) == 0;
  if (ranks == expected.ranks && right_library) return true;
  std::fprintf(stderr, "expected %d ranks of %s, found %d of %s\n", expected.ranks,
               expected.library.c_str(), ranks, text);
  return false;
}

/// Reports the rank of each failure. Ends the job if other ranks might wait for this one.
class FailurePrinter final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    running_ = std::string(test.test_suite_name()) + "." + test.name();
  }

  // GoogleTest holds its lock here, so a call of it would deadlock.
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const char* const file = result.file_name() == nullptr ? "" : result.file_name();
    std::fprintf(stderr, "[rank %d] %s %s:%d\n%s\n", world_rank(), running_.c_str(), file,
                 result.line_number(), result.message());
    if (!result.fatally_failed()) return;
    std::fflush(nullptr);
    std::_Exit(1);  // MPI_Abort loses what was just printed; the launcher ends the other ranks all
                    // the same.
  }

  std::string running_;
};

void install_listeners() {
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (world_rank() != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailurePrinter);
}

int reduce_max(int mine) {
  int all = 1;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const Expected expected = parse(argc, argv);
  int level = 0;
  MPI_Init_thread(&argc, &argv, expected.thread_level, &level);
  int outcome = 1;
  if (is_as_expected(expected)) {
    install_listeners();
    const int ran = RUN_ALL_TESTS();
    outcome =
        reduce_max(ran == 0 && testing::UnitTest::GetInstance()->test_to_run_count() > 0 ? 0 : 1);
  }
  MPI_Finalize();
  return outcome;
}
