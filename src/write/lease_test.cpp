// SPDX-License-Identifier: Apache-2.0
// One holder at a time: a live holder is named and kept, a killed one is followed at once, and only
// one of many successors succeeds.
#include "write/lease.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "write/lease_testing.hpp"
#include "write/processes.hpp"

namespace forebay::write {
namespace {

constexpr std::chrono::milliseconds kVerifyTimeout{20};

std::size_t entries_in(const std::string& directory) {
  const auto entries = std::filesystem::directory_iterator(directory);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

/// A process that acquires the lease and is killed while it holds it.
void acquire_and_kill(const std::string& directory) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto lease = Lease::acquire(directory);
    if (!lease) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the child did not acquire the lease";
}

TEST(Lease, lease_is_held_until_destruction) {
  const TemporaryDirectory directory;
  {
    const auto lease = Lease::acquire(directory.path());
    ASSERT_TRUE(lease) << lease.error().message();
    EXPECT_TRUE((*lease)->check());
    EXPECT_TRUE(std::filesystem::exists(directory / "owner"));
  }
  EXPECT_EQ(entries_in(directory.path()), 0U);
}

TEST(Lease, second_holder_is_refused_with_name_of_first) {
  const TemporaryDirectory directory;
  const auto first = Lease::acquire(directory.path());
  ASSERT_TRUE(first);
  const auto second = Lease::acquire(directory.path());
  ASSERT_FALSE(second);
  const std::string message = second.error().message();
  EXPECT_EQ(second.error().kind(), ErrorClass::kPermission);
  EXPECT_NE(message.find(std::to_string(::getpid())), std::string::npos) << message;
  EXPECT_NE(message.find((*first)->holder().host), std::string::npos) << message;
  EXPECT_NE(message.find((*first)->holder().program), std::string::npos) << message;
  EXPECT_TRUE((*first)->check());
  EXPECT_EQ(entries_in(directory.path()), 1U);
}

TEST(Lease, fifo_in_place_of_the_file_is_refused_without_a_wait) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "owner").c_str(), 0600), 0);
  const auto lease = Lease::acquire(directory.path());
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_NE(lease.error().message().find("not a regular file"), std::string::npos)
      << lease.error().message();
}

TEST(Lease, killed_holder_is_followed_at_once) {
  const TemporaryDirectory directory;
  acquire_and_kill(directory.path());
  ASSERT_TRUE(std::filesystem::exists(directory / "owner"));
  const auto lease = Lease::acquire(directory.path());
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_TRUE((*lease)->check());
}

TEST(Lease, reused_process_number_holds_no_lease) {
  const TemporaryDirectory directory;
  format::LeaseHolder holder = current_process();
  ++holder.process_start;
  write_lease_file(directory / "owner", holder);
  SimulatedClock clock;
  EXPECT_TRUE(Lease::acquire(directory.path(), current_process(), {.clock = &clock}));
}

TEST(Lease, one_of_many_successors_succeeds) {
  for (int round = 0; round < 20; ++round) {
    const TemporaryDirectory directory;
    format::LeaseHolder dead = current_process();
    ++dead.process_start;
    write_locked_lease_file(directory / "owner", dead);
    if (round % 2 == 0) {  // a successor died before it had finished
      format::LeaseHolder follower = current_process();
      ++follower.process_start;
      std::array<char, 64> name{};
      std::snprintf(name.data(), name.size(), "owner-after-%016llx",
                    static_cast<unsigned long long>(dead.nonce));
      write_locked_lease_file(directory / name.data(), follower);
    }
    std::vector<Result<std::unique_ptr<Lease>>> leases(8);
    std::vector<std::thread> threads;
    for (auto& lease : leases)
      threads.emplace_back([&] { lease = Lease::acquire(directory.path()); });
    for (std::thread& thread : threads)
      thread.join();
    const auto held = std::ranges::count_if(leases, [](const auto& one) { return bool(one); });
    ASSERT_EQ(held, 1) << "round " << round;
    for (const auto& lease : leases)
      EXPECT_TRUE(!lease || (*lease)->check());
  }
}

TEST(Lease, old_attempt_files_are_removed) {
  const TemporaryDirectory directory;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const char* const name : {"owner-new-1", "owner-after-1", "owner-new-2", "other-new-1"}) {
    write_lease_file(directory / name, current_process());
    const bool is_recent = std::string_view(name).ends_with("2");
    std::filesystem::last_write_time(directory / name,
                                     now - std::chrono::minutes(is_recent ? 1 : 60));
  }
  const auto lease = Lease::acquire(directory.path());
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_FALSE(std::filesystem::exists(directory / "owner-new-1"));
  EXPECT_FALSE(std::filesystem::exists(directory / "owner-after-1"));
  EXPECT_TRUE(std::filesystem::exists(directory / "owner-new-2"));
  EXPECT_TRUE(std::filesystem::exists(directory / "other-new-1"));
}

TEST(Lease, silent_holder_on_other_host_is_followed_after_timeout) {
  const TemporaryDirectory directory;
  format::LeaseHolder remote = current_process();
  remote.host += "-far";
  remote.boot_id = "another";
  write_lease_file(directory / "owner", remote);
  SimulatedClock clock;
  const auto lease = Lease::acquire(directory.path(), current_process(), {.clock = &clock});
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(clock.waited(), LeaseOptions().heartbeat_timeout_ms_max);
}

// Process numbers prove nothing here: the number of a container's process may be another one on the
// host.
TEST(Lease, holder_in_other_container_is_followed_after_timeout) {
  for (const std::uint64_t other : {current_process().process_namespace + 1, std::uint64_t{0}}) {
    const TemporaryDirectory directory;
    format::LeaseHolder local = current_process();
    local.process_namespace = other;
    ++local.process_start;
    {
      const auto held = Lease::acquire(directory.path(), local);
      ASSERT_TRUE(held);
      EXPECT_FALSE(Lease::acquire(directory.path()));
      EXPECT_TRUE((*held)->check());
    }
    write_lease_file(directory / "owner", local);
    SimulatedClock clock;
    EXPECT_TRUE(Lease::acquire(directory.path(), current_process(), {.clock = &clock}));
    EXPECT_EQ(clock.waited(), LeaseOptions().heartbeat_timeout_ms_max);
  }
}

TEST(Lease, unidentified_holder_is_followed_after_timeout) {
  const TemporaryDirectory directory;
  format::LeaseHolder hidden = current_process();
  hidden.process_start = 0;
  write_lease_file(directory / "owner", hidden);
  SimulatedClock clock;
  EXPECT_TRUE(Lease::acquire(directory.path(), current_process(), {.clock = &clock}));
  EXPECT_EQ(clock.waited(), LeaseOptions().heartbeat_timeout_ms_max);
}

TEST(Lease, verify_lease_accepts_only_its_directory) {
  const TemporaryDirectory directory;
  const TemporaryDirectory other;
  const auto lease = Lease::acquire(directory.path());
  const auto another = Lease::acquire(other.path());
  ASSERT_TRUE(lease && another);
  const std::uint64_t nonce = (*lease)->holder().nonce;
  EXPECT_TRUE(verify_lease(directory.path(), nonce, kVerifyTimeout));
  const Status wrong = verify_lease(other.path(), nonce, kVerifyTimeout);
  ASSERT_EQ(error_class(wrong), ErrorClass::kInvalidArgument);
  EXPECT_EQ(wrong.error().path(), other.path());
  EXPECT_FALSE(verify_lease(directory / "nowhere", nonce, kVerifyTimeout));
}

TEST(Lease, live_holder_on_other_host_is_refused) {
  const TemporaryDirectory directory;
  format::LeaseHolder remote = current_process();
  remote.host += "-far";
  const auto held = Lease::acquire(directory.path(), remote);
  ASSERT_TRUE(held);
  const auto lease = Lease::acquire(directory.path());
  ASSERT_FALSE(lease);
  EXPECT_NE(lease.error().message().find(remote.host), std::string::npos)
      << lease.error().message();
  EXPECT_TRUE((*held)->check());
}

TEST(Lease, followed_holder_fails_check_and_removes_nothing) {
  const TemporaryDirectory directory;
  const auto held = Lease::acquire(directory.path());
  ASSERT_TRUE(held);
  std::filesystem::remove(directory / "owner");  // as the text of the Error recommends
  auto lease = Lease::acquire(directory.path());
  ASSERT_TRUE(lease);
  EXPECT_FALSE((*held)->check());
  EXPECT_TRUE((*lease)->check());
}

TEST(Lease, missing_directory_returns_error) {
  const TemporaryDirectory directory;
  const auto lease = Lease::acquire(directory / "nowhere");
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().kind(), ErrorClass::kNotFound);
}

}  // namespace
}  // namespace forebay::write
