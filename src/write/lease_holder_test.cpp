// SPDX-License-Identifier: Apache-2.0
// Whether a former holder lives: its lock, its process and its heartbeat, on this host, in other
// PID namespaces, in clones of a machine, and in copies of the dataset.
#include "write/lease_holder.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "write/lease.hpp"
#include "write/lease_testing.hpp"

namespace forebay::write {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kNoNamespace = 77;

class LeaseHolderTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Lease>> acquire(const std::string& directory) {
    return Lease::acquire(directory, current_process(), options_);
  }
  Result<std::unique_ptr<Lease>> acquire() { return acquire(directory_.path()); }

  /// Sends a heartbeat of a holder without a lock at each wait.
  void heartbeat_at_each_sleep() {
    clock_.on_sleep = [this, second = std::int64_t{1000}]() mutable {
      set_mtime(owner_path_, second++);
    };
  }
  std::string all_lines() const {
    std::string all;
    for (const std::string& line : log_.lines)
      all += line + "\n";
    return all;
  }
  bool has_line_with(const std::string& text) const {
    return std::ranges::any_of(
        log_.lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }

  const TemporaryDirectory directory_;
  const std::string owner_path_ = directory_ / "owner";
  SimulatedClock clock_;
  LogRecorder log_;
  LeaseOptions options_{.log = &log_, .clock = &clock_};
};

format::LeaseHolder ended_process() {
  format::LeaseHolder holder = current_process();
  ++holder.process_start;
  return holder;
}

format::LeaseHolder remote_process() {
  format::LeaseHolder holder = current_process();
  holder.host = "node7";
  holder.boot_id = "another";
  holder.process_id = 4711;
  holder.program = "flow";
  return holder;
}

TEST_F(LeaseHolderTest, control_characters_of_holder_are_escaped_in_log) {
  format::LeaseHolder holder = remote_process();
  holder.program = "flow\n\x1b[2J";
  holder.user = "jane\n";
  write_lease_file(owner_path_, holder);
  const auto lease = acquire();
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_TRUE(has_line_with("(flow\\n\\x1b[2J) of jane\\n")) << all_lines();
  for (const std::string& line : log_.lines)
    EXPECT_EQ(line.find_first_of("\n\x1b"), line.npos) << line;
}

TEST_F(LeaseHolderTest, clone_of_a_machine_with_a_live_twin_is_refused) {
  write_lease_file(owner_path_, ended_process());
  heartbeat_at_each_sleep();
  const auto lease = acquire();
  ASSERT_EQ(error_class(lease), ErrorClass::kPermission);
  EXPECT_TRUE(fs::exists(owner_path_));
}

TEST_F(LeaseHolderTest, clone_of_a_machine_takes_over_after_short_timeout) {
  write_lease_file(owner_path_, ended_process());
  const auto lease = acquire();
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(clock_.waited(), options_.heartbeat_timeout_ms_min);
  EXPECT_TRUE(has_line_with("a clone of this machine may still write")) << all_lines();
}

TEST_F(LeaseHolderTest, killed_lock_holder_is_followed_without_a_wait) {
  write_locked_lease_file(owner_path_, remote_process());
  const auto lease = acquire();
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(clock_.waited(), milliseconds(0));
}

/// Takes the lease as the first process of a PID namespace, and is killed.
void acquire_in_pid_namespace(const std::string& directory) {
  const pid_t outer = ::fork();
  ASSERT_GE(outer, 0);
  if (outer == 0) {
    if (::unshare(CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
      ::_exit(kNoNamespace);
    const pid_t inner = ::fork();
    if (inner == 0) {
      const auto lease = Lease::acquire(directory);
      // The /proc of the parent namespace shows another process of this number.
      const bool is_right = lease && (*lease)->holder().process_start == 0;
      ::_exit(is_right ? 0 : 1);  // ends without the destructor of the lease, as if killed
    }
    int status = 1;
    const bool has_taken = inner > 0 && ::waitpid(inner, &status, 0) == inner && status == 0;
    ::_exit(has_taken ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(outer, &status, 0), outer);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNamespace)
    GTEST_SKIP() << "this user may not make PID namespaces";
  ASSERT_EQ(status, 0)
      << "the child did not acquire the lease, or recorded the start of another process";
}

TEST_F(LeaseHolderTest, holder_killed_in_pid_namespace_is_followed_without_a_wait) {
  acquire_in_pid_namespace(directory_.path());
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_TRUE(fs::exists(owner_path_));
  const auto lease = acquire();
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(clock_.waited(), milliseconds(0));
}

TEST_F(LeaseHolderTest, live_lock_in_another_pid_namespace_is_refused_without_a_wait) {
  format::LeaseHolder local = current_process();
  ++local.process_namespace;
  ++local.process_start;
  const auto held = Lease::acquire(directory_.path(), local);
  ASSERT_TRUE(held);
  EXPECT_EQ(error_class(acquire()), ErrorClass::kPermission);
  EXPECT_EQ(clock_.waited(), milliseconds(0));
  EXPECT_TRUE((*held)->check());
}

TEST_F(LeaseHolderTest, lock_of_orphaned_child_is_followed_after_short_timeout) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t holder = ::fork();
  ASSERT_GE(holder, 0);
  if (holder == 0) {
    const auto lease = Lease::acquire(directory_.path());
    if (!lease) ::_exit(1);
    if (::fork() == 0) {  // holds the lock until the pipe is closed
      char none = 0;
      ::close(pipe[1]);
      ::_exit(static_cast<int>(::read(pipe[0], &none, 1)));
    }
    ::_exit(0);
  }
  ::close(pipe[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(holder, &status, 0), holder);
  ASSERT_EQ(status, 0);
  const auto lease = acquire();
  ::close(pipe[1]);
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(clock_.waited(), options_.heartbeat_timeout_ms_min);
  EXPECT_TRUE(has_line_with("a child that it forked holds its lock")) << all_lines();
}

TEST_F(LeaseHolderTest, copy_of_a_live_dataset_is_taken_over_without_a_wait) {
  const auto held = Lease::acquire(directory_.path());
  ASSERT_TRUE(held);
  const TemporaryDirectory other;
  const std::string copy = other / "copy.fb";
  fs::copy(directory_.path(), copy, fs::copy_options::recursive);
  const auto lease = acquire(copy);
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(clock_.waited(), milliseconds(0));
  EXPECT_TRUE(has_line_with(copy + " is a copy")) << all_lines();
  EXPECT_TRUE((*lease)->check());
  EXPECT_TRUE((*held)->check());
}

/// The `owner` file of a dataset of which this is a snapshot: inode numbers are the same, the
/// device number is not.
void write_snapshot_lease_file(const std::string& path) {
  write_locked_lease_file(path, current_process());
  format::LeaseHolder holder = current_process();
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  holder.device = facts.st_dev + 1;
  holder.inode = facts.st_ino;
  holder.is_locked = true;
  write_lease_file(path, holder);
}

TEST_F(LeaseHolderTest, snapshot_of_live_dataset_is_taken_over_after_timeout) {
  write_snapshot_lease_file(owner_path_);
  {
    const auto lease = acquire();
    ASSERT_TRUE(lease) << lease.error().message();
    EXPECT_EQ(clock_.waited(), options_.heartbeat_timeout_ms_max);
    EXPECT_TRUE(has_line_with("snapshot")) << all_lines();
  }
  write_snapshot_lease_file(owner_path_);  // a new file, whose inode number may be another one
  heartbeat_at_each_sleep();
  EXPECT_EQ(error_class(acquire()), ErrorClass::kPermission);
}

TEST_F(LeaseHolderTest, wait_logs_dataset_holder_and_limit_once_then_progress) {
  write_lease_file(owner_path_, remote_process());
  const auto lease = acquire();
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(clock_.waited(), seconds(15));
  ASSERT_EQ(log_.lines.size(), 4U) << all_lines();
  for (const std::string& line : log_.lines) {
    EXPECT_TRUE(line.starts_with(directory_.path() + ": ")) << line;
    EXPECT_NE(line.find("heartbeat of process 4711 (flow) of "), std::string::npos) << line;
    EXPECT_NE(line.find(" on node7"), std::string::npos) << line;
  }
  EXPECT_NE(log_.lines[0].find("waiting for at most 15 s"), std::string::npos) << all_lines();
  EXPECT_NE(log_.lines[1].find("for 5 s; waiting for at most 10 s more"), std::string::npos);
  EXPECT_NE(log_.lines[2].find("for 10 s; waiting for at most 5 s more"), std::string::npos);
  EXPECT_NE(log_.lines[3].find("for 15 s; taking the dataset over"), std::string::npos);
}

TEST_F(LeaseHolderTest, short_wait_logs_nothing) {
  write_lease_file(owner_path_, remote_process());
  options_.heartbeat_timeout_ms_max = milliseconds(800);
  EXPECT_TRUE(acquire());
  EXPECT_TRUE(log_.lines.empty()) << all_lines();
}

TEST_F(LeaseHolderTest, wait_ends_at_the_deadline_of_the_opening) {
  write_lease_file(owner_path_, remote_process());
  options_.deadline = clock_.now() + seconds(3);
  const auto lease = acquire();
  ASSERT_EQ(error_class(lease), ErrorClass::kLimit);
  EXPECT_EQ(clock_.waited(), seconds(3));
  EXPECT_TRUE(message_contains(lease.error(), "process 4711 (flow)")) << lease.error().message();
  EXPECT_TRUE(has_line_with("waiting for at most 3 s")) << all_lines();
  EXPECT_TRUE(has_line_with("then the opening reaches its deadline")) << all_lines();
  EXPECT_TRUE(fs::exists(owner_path_));
}

TEST_F(LeaseHolderTest, wait_ends_when_the_clock_cancels_it) {
  write_lease_file(owner_path_, remote_process());
  clock_.is_cancelled = true;
  EXPECT_EQ(error_class(acquire()), ErrorClass::kCancelled);
  EXPECT_TRUE(fs::exists(owner_path_));
}

}  // namespace
}  // namespace forebay::write
