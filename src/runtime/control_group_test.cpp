// SPDX-License-Identifier: Apache-2.0
// A session on demand in a control group that is smaller than its cache. Needs root.
#include <forebay/runtime.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizer.hpp"
#include "read/testing.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kGroupBytes = 40_MiB;  // the default budget is 64 MiB
constexpr std::uint64_t kLargeFileBytes = 96_MiB;
constexpr unsigned kGroupTestSeconds = 60;

/// A group of this process, with a limit; its directory is empty if it cannot be created.
class ControlGroup {
 public:
  ControlGroup() {
    std::ifstream lines("/proc/self/cgroup");
    for (std::string line; std::getline(lines, line) && directory_.empty();) {
      const std::string path = line.substr(line.find_last_of(':') + 1);
      if (line.starts_with("0::")) create("/sys/fs/cgroup" + path, "memory.max");
      if (line.find(":memory:") != std::string::npos)
        create("/sys/fs/cgroup/memory" + path, "memory.limit_in_bytes");
    }
  }
  ~ControlGroup() {
    std::error_code ignored;
    if (!directory_.empty()) fs::remove(directory_, ignored);
  }
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  bool is_created() const { return !directory_.empty(); }
  bool enter() const {
    return static_cast<bool>(std::ofstream(directory_ / "cgroup.procs") << ::getpid() << std::endl);
  }

 private:
  void create(const fs::path& parent, const char* limit_file) {
    const fs::path directory = parent / ("forebay-test-" + std::to_string(::getpid()));
    std::error_code failed;
    fs::create_directory(directory, failed);
    if (failed) return;
    const bool has_limit = fs::exists(directory / limit_file) &&
                           std::ofstream(directory / limit_file) << kGroupBytes << std::endl;
    if (has_limit)
      directory_ = directory;
    else
      fs::remove(directory, failed);
  }

  fs::path directory_;
};

/// The exit code of the child: 0 if all reads were right.
int read_in_small_group(const ControlGroup& group, const std::string& path) {
  ::alarm(kGroupTestSeconds);
  if (!group.enter()) return 2;
  Runtime runtime;
  auto session = runtime.open_file(path)->read_session({}, {.mode = Mode::kOnDemand});
  if (!session || session->plan().budget_bytes >= kGroupBytes) return 3;
  if (!session->hint("read {96 x (1048576 i, 1048576)}")) return 4;
  for (std::uint64_t offset = 0; offset < kLargeFileBytes; offset += 1_MiB) {
    if (!read::reads_words(*session, {offset, 1_MiB})) return 5;
  }
  return 0;
}

TEST(ControlGroupTest, cache_fits_into_a_small_control_group) {
  if (kThreadSanitizer || kAddressSanitizer) GTEST_SKIP() << "a sanitizer needs more memory";
  const storage::TemporaryDirectory directory;
  const std::string path = directory / "words";
  read::write_words(path, kLargeFileBytes);
  const ControlGroup group;
  if (!group.is_created()) GTEST_SKIP() << "control groups of memory cannot be created here";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(read_in_small_group(group, path));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace forebay
