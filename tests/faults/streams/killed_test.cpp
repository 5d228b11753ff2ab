// SPDX-License-Identifier: Apache-2.0
// A program that is killed while its stream drains to a device that does not answer: what it would
// have published is not there, and the next run begins anew.
#include <array>
#include <csignal>
#include <filesystem>
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

#include "emulated_storage.hpp"
#include "fixtures.hpp"

namespace forebay::faults {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBytes = 9 * kBuffer + 77;

/// Two processes that wait for each other.
class Signal {
 public:
  Signal() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~Signal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  void give() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  /// False after a minute.
  bool comes() const {
    char byte = 0;
    return becomes_readable(ends_[0]) && ::read(ends_[0], &byte, 1) == 1;
  }

 private:
  std::array<int, 2> ends_{};
};

/// The program: half of its bytes are written when it says so, and then it is told to go on.
[[noreturn]] void write_until_killed(const Way& way,
                                     const std::string& path,
                                     const Signal& half_way,
                                     const Signal& go_on) {
  Runtime runtime({.engine = way.engine});
  OutputStream out = must(runtime.output_stream(way.plan()));
  const OutputFile file = must(out.create(path, {.publication = Publication::kWhenComplete}));
  EXPECT_TRUE(works(submit_all(out, file, {0, 5 * kBuffer}, kBuffer)));
  EXPECT_TRUE(works(out.drain()));
  half_way.give();
  EXPECT_TRUE(go_on.comes());
  EXPECT_TRUE(works(submit_all(out, file, {5 * kBuffer, kBytes - 5 * kBuffer}, kBuffer)));
  static_cast<void>(file.publish());  // never comes back
  ::_exit(1);
}

class Killed : public OnStorage<EmulatedStorage> {
 protected:
  std::unique_ptr<EmulatedStorage> make_storage() const override {
    return std::make_unique<EmulatedStorage>();
  }
  /// Starts the program and kills it while it waits in publish().
  void run_and_kill(const std::string& path) {
    const Signal half_way;
    const Signal go_on;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_until_killed(GetParam(), path, half_way, go_on);
    EXPECT_TRUE(half_way.comes());
    {
      const EmulatedStorage::Stall stall(*storage);
      go_on.give();
      EXPECT_TRUE(storage->has_requests());
      ::kill(child, SIGKILL);
    }
    // Only now: the kernel lets nobody go who waits for a direct write.
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it came back";
  }
  void run_again(const std::string& path) {
    Runtime runtime({.engine = GetParam().engine});
    OutputStream out = must(runtime.output_stream(GetParam().plan()));
    const OutputFile file = must(out.create(path, {.publication = Publication::kWhenComplete}));
    EXPECT_TRUE(works(submit_all(out, file, {0, 3 * kBuffer + 5}, kBuffer)));
    EXPECT_TRUE(works(file.publish()));
  }
};

TEST_P(Killed, while_draining_leaves_no_file_of_the_name) {
  const std::string path = *storage / "data";
  run_and_kill(path);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(temporaries_of(path).size(), 1U);
  run_again(path);
  EXPECT_TRUE(is_pattern(path, 3 * kBuffer + 5));
  EXPECT_EQ(temporaries_of(path).size(), 1U) << "the next program leaves it alone";
}

TEST_P(Killed, while_draining_leaves_the_file_that_was_there) {
  const std::string path = *storage / "data";
  storage::write_pattern_file(path, 1234);
  run_and_kill(path);
  EXPECT_TRUE(is_pattern(path, 1234));
  run_again(path);
  EXPECT_TRUE(is_pattern(path, 3 * kBuffer + 5));
}

INSTANTIATE_TEST_SUITE_P(All, Killed, ::testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace forebay::faults
