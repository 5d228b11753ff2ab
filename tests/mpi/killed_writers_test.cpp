// SPDX-License-Identifier: Apache-2.0
// Jobs of several processes that write a dataset, of which a rank is killed at some moment. The
// newest step with a receipt must open and be complete, and a restart must not be refused.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "tests/faults/datasets/dataset_checks.hpp"
#include "tests/faults/datasets/test_contents.hpp"
#include "tests/faults/datasets/test_seeds.hpp"
#include "tests/faults/streams/private_mounts.hpp"

namespace forebay::faults {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::uint32_t kRanks = 4;
constexpr auto kStartMax = seconds(60);  ///< on a busy machine
constexpr auto kEndMax = seconds(20);
constexpr std::uint64_t kKills = 20;
constexpr std::uint64_t kKillsAll = 200;

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

template <class Condition>
bool wait_until(const Condition& condition, steady_clock::duration time_max) {
  const auto end = steady_clock::now() + time_max;
  while (!condition()) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

bool is_alive(pid_t process) { return ::kill(process, 0) == 0; }

/// The ranks of one job, found by its marks. The destructor kills all that are alive.
class MpiJob {
 public:
  struct Task {
    std::string path;
    std::uint64_t contents = 0;
    std::string strategy;
  };
  explicit MpiJob(const Task& task) {
    std::vector<std::string> words = split_words(FOREBAY_MPI_LAUNCHER_ARGUMENTS);
    for (const std::string& word :
         {std::string("-n"), std::to_string(kRanks), std::string(FOREBAY_KILLED_WRITER), task.path,
          std::to_string(task.contents), task.strategy, marks_.path()})
      words.push_back(word);
    launcher_ = ::fork();
    if (launcher_ == 0) exec_launcher(words, marks_ / "output");
    EXPECT_GT(launcher_, 0);
  }
  ~MpiJob() {
    for (const auto& [rank, process] : ranks_)
      ::kill(process, SIGKILL);
    if (!has_ended_) ::kill(launcher_, SIGKILL);
    if (!has_ended_) ::waitpid(launcher_, nullptr, 0);
  }
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  /// Waits until all ranks write and `steps` steps are durable.
  bool wait_until_running(std::uint64_t steps) {
    return wait_until(
        [&] {
          find_ranks();
          return ranks_.size() == kRanks && durable().size() >= steps;
        },
        kStartMax);
  }
  void kill(std::uint32_t rank) { ::kill(ranks_.at(rank), SIGKILL); }
  /// Waits for the launcher and all ranks.
  bool wait_until_ended() {
    return wait_until(
        [&] {
          has_ended_ = has_ended_ || ::waitpid(launcher_, nullptr, WNOHANG) == launcher_;
          return has_ended_ && std::ranges::none_of(
                                   ranks_, [](const auto& rank) { return is_alive(rank.second); });
        },
        kEndMax);
  }
  std::vector<std::uint64_t> durable() const {
    std::vector<std::uint64_t> steps;
    for (const auto& entry : fs::directory_iterator(marks_.path()))
      if (const auto step = number_after("durable-", entry.path().filename()))
        steps.push_back(*step);
    std::ranges::sort(steps);
    return steps;
  }
  /// Output of launcher and ranks.
  std::string output() const {
    std::ifstream in(marks_ / "output");
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  [[noreturn]] static void exec_launcher(const std::vector<std::string>& words,
                                         const std::string& output_path) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = ::open(output_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    for (const std::string& setting : split_words(FOREBAY_MPI_ENVIRONMENT)) {
      const std::size_t cut = setting.find('=');
      ::setenv(setting.substr(0, cut).c_str(), setting.substr(cut + 1).c_str(), 1);
    }
    std::vector<char*> arguments;
    for (const std::string& word : words)
      arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  static std::optional<std::uint64_t> number_after(const std::string& start,
                                                   const std::string& name) {
    std::uint64_t number = 0;
    if (!name.starts_with(start)) return std::nullopt;
    std::from_chars(name.data() + start.size(), name.data() + name.size(), number);
    return number;
  }
  void find_ranks() {
    for (const auto& entry : fs::directory_iterator(marks_.path())) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("rank-")) continue;
      const auto rank = static_cast<std::uint32_t>(*number_after("rank-", name));
      const auto process = *number_after("rank-" + std::to_string(rank) + "-", name);
      ranks_[rank] = static_cast<pid_t>(process);
    }
  }

  const TemporaryDirectory marks_;
  pid_t launcher_ = -1;
  bool has_ended_ = false;
  std::map<std::uint32_t, pid_t> ranks_;
};

/// Expects that the newest acknowledged step exists, and that a program of one rank continues.
void expect_restart(const std::string& path, const TestContents& contents, std::uint64_t newest) {
  if (newest > 0) {
    EXPECT_TRUE(is_intact(path, contents, newest, CommitSlots::kOneMayBeTorn));
  }
  Runtime runtime;
  const auto begin = steady_clock::now();
  auto dataset = runtime.create_dataset(path, {.existing = ExistingDataset::kAppend});
  ASSERT_TRUE(dataset) << dataset.error().message();
  EXPECT_LT(steady_clock::now() - begin, seconds(10))
      << "the lease of a dead process must not delay a restart";
  const std::uint64_t next = dataset->newest_step().value_or(0) + 1;
  EXPECT_GT(next, newest);
  const auto receipt = write_step(runtime, *dataset, contents, next);
  EXPECT_TRUE(receipt) << receipt.error().message();
  EXPECT_TRUE(dataset->close());
  EXPECT_TRUE(is_intact(path, contents, next));
}

std::uint64_t newest_of(const MpiJob& job) {
  const auto durable = job.durable();
  return durable.empty() ? 0 : durable.back();
}

/// What MPI leaves of a killed job in shared memory is removed with the test.
void mount_private_shared_memory() {
  static const bool is_private = private_mounts_unavailable_reason().empty() &&
                                 ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1g") == 0;
  std::ignore = is_private;
}

/// The seed determines which rank is killed and when. Half of the jobs have all roles: rank 0
/// coordinates and writes, 2 writes, 1 and 3 send their bytes to them.
class KilledJob : public testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override { mount_private_shared_memory(); }
};

TEST_P(KilledJob, steps_with_receipt_survive) {
  std::mt19937_64 random(GetParam());
  const TemporaryDirectory directory;
  const TestContents contents(GetParam());
  const std::string path = directory / "run.fb";
  const std::string strategy =
      random() % 2 == 0 ? "reduced-blocking"
                        : std::string(name_of(kStrategies.at(random() % kStrategies.size())));
  const std::uint32_t victim = static_cast<std::uint32_t>(GetParam()) % (kRanks + 1);
  const std::uint64_t steps = random() % 4;
  const milliseconds moment(random() % 60);
  SCOPED_TRACE(strategy + ", rank " + std::to_string(victim) + " (4: all), " +
               std::to_string(moment.count()) + " ms after step " + std::to_string(steps));
  MpiJob job({path, contents.seed(), strategy});
  ASSERT_TRUE(job.wait_until_running(steps)) << job.output();
  std::this_thread::sleep_for(moment);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    if (victim == rank || victim == kRanks) job.kill(rank);
  ASSERT_TRUE(job.wait_until_ended()) << job.output();
  expect_restart(path, contents, newest_of(job));
}

INSTANTIATE_TEST_SUITE_P(Seeds,
                         KilledJob,
                         testing::Range<std::uint64_t>(0, is_exhaustive() ? kKillsAll : kKills),
                         seed_name);

}  // namespace
}  // namespace forebay::faults
