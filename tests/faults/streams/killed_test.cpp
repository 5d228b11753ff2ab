// SPDX-License-Identifier: Apache-2.0
// A program is killed while its stream drains to a stalled device. The file that it would have
// published does not exist, and the next run starts anew.
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

/// Signals between two processes.
class PipeSignal {
 public:
  PipeSignal() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~PipeSignal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  PipeSignal(const PipeSignal&) = delete;
  PipeSignal& operator=(const PipeSignal&) = delete;
  void send() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  /// False after a minute.
  bool wait_for() const {
    char byte = 0;
    return wait_until_readable(ends_[0]) && ::read(ends_[0], &byte, 1) == 1;
  }

 private:
  std::array<int, 2> ends_{};
};

/// The program: sends `half_way` when half of its bytes are written, then waits for `resume`.
[[noreturn]] void write_until_killed(const WriteConfig& config,
                                     const std::string& path,
                                     const PipeSignal& half_way,
                                     const PipeSignal& resume) {
  Runtime runtime({.tuning = {.backend = config.backend}});
  OutputStream out = must(runtime.create_output_stream(config.plan()));
  const OutputFile file = must(out.create(path, {.visibility = FileVisibility::kOnPublish}));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 5 * kBuffer}, kBuffer)));
  EXPECT_TRUE(is_ok(out.drain()));
  half_way.send();
  EXPECT_TRUE(resume.wait_for());
  EXPECT_TRUE(is_ok(submit_all(out, file, {5 * kBuffer, kBytes - 5 * kBuffer}, kBuffer)));
  static_cast<void>(file.publish());  // never returns
  ::_exit(1);
}

class Killed : public StorageTest<EmulatedStorage> {
 protected:
  std::unique_ptr<EmulatedStorage> make_storage() const override {
    return std::make_unique<EmulatedStorage>();
  }
  /// Starts the program and kills it while it waits in publish().
  void run_and_kill(const std::string& path) {
    const PipeSignal half_way;
    const PipeSignal resume;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_until_killed(GetParam(), path, half_way, resume);
    EXPECT_TRUE(half_way.wait_for());
    {
      const EmulatedStorage::Stall stall(*storage);
      resume.send();
      EXPECT_TRUE(storage->wait_for_requests());
      ::kill(child, SIGKILL);
    }
    // Only after the stall: the kernel cannot end a process that waits for a direct write.
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "publish() returned";
  }
  void run_again(const std::string& path) {
    Runtime runtime({.tuning = {.backend = GetParam().backend}});
    OutputStream out = must(runtime.create_output_stream(GetParam().plan()));
    const OutputFile file = must(out.create(path, {.visibility = FileVisibility::kOnPublish}));
    EXPECT_TRUE(is_ok(submit_all(out, file, {0, 3 * kBuffer + 5}, kBuffer)));
    EXPECT_TRUE(is_ok(file.publish()));
  }
};

TEST_P(Killed, while_draining_leaves_no_published_file) {
  const std::string path = *storage / "data";
  run_and_kill(path);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(temporary_files_of(path).size(), 1U);
  run_again(path);
  EXPECT_TRUE(is_pattern(path, 3 * kBuffer + 5));
  EXPECT_EQ(temporary_files_of(path).size(), 1U) << "the next program must not remove it";
}

TEST_P(Killed, while_draining_keeps_the_existing_file) {
  const std::string path = *storage / "data";
  storage::write_pattern_file(path, 1234);
  run_and_kill(path);
  EXPECT_TRUE(is_pattern(path, 1234));
  run_again(path);
  EXPECT_TRUE(is_pattern(path, 3 * kBuffer + 5));
}

INSTANTIATE_TEST_SUITE_P(All, Killed, ::testing::ValuesIn(stream_configs()), config_name);

}  // namespace
}  // namespace forebay::faults
