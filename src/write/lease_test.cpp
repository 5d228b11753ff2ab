// SPDX-License-Identifier: Apache-2.0
// One writer at a time: who lives is named and left in peace, who was killed is followed at once,
// and of many who follow only one does.
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

constexpr std::chrono::milliseconds kLookTime{20};

std::size_t entries_in(const std::string& folder) {
  const auto entries = std::filesystem::directory_iterator(folder);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

/// A process that takes the lease and is killed with it.
void take_and_be_killed(const std::string& folder) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto lease = Lease::acquire(folder);
    if (!lease) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the child did not get the lease";
}

TEST(Lease, is_held_until_it_ends) {
  const TemporaryFolder folder;
  {
    const auto lease = Lease::acquire(folder.path());
    ASSERT_TRUE(lease) << lease.error().message();
    EXPECT_TRUE((*lease)->check());
    EXPECT_TRUE(std::filesystem::exists(folder / "owner"));
  }
  EXPECT_EQ(entries_in(folder.path()), 0U);
}

TEST(Lease, a_second_one_is_refused_with_the_name_of_the_first) {
  const TemporaryFolder folder;
  const auto first = Lease::acquire(folder.path());
  ASSERT_TRUE(first);
  const auto second = Lease::acquire(folder.path());
  ASSERT_FALSE(second);
  const std::string message = second.error().message();
  EXPECT_EQ(second.error().kind(), ErrorClass::kPermission);
  EXPECT_NE(message.find(std::to_string(::getpid())), std::string::npos) << message;
  EXPECT_NE(message.find((*first)->owner().host), std::string::npos) << message;
  EXPECT_NE(message.find((*first)->owner().program), std::string::npos) << message;
  EXPECT_TRUE((*first)->check());
  EXPECT_EQ(entries_in(folder.path()), 1U);
}

TEST(Lease, fifo_in_place_of_the_file_is_refused_without_a_wait) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "owner").c_str(), 0600), 0);
  const auto lease = Lease::acquire(folder.path());
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_NE(lease.error().message().find("no regular file"), std::string::npos)
      << lease.error().message();
}

TEST(Lease, of_a_killed_process_is_followed_at_once) {
  const TemporaryFolder folder;
  take_and_be_killed(folder.path());
  ASSERT_TRUE(std::filesystem::exists(folder / "owner"));
  const auto lease = Lease::acquire(folder.path());
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_TRUE((*lease)->check());
}

TEST(Lease, a_process_number_that_was_used_again_holds_nothing) {
  const TemporaryFolder folder;
  format::Owner owner = this_process();
  ++owner.process_start;
  write_owner(folder / "owner", owner);
  SteppedClock clock;
  EXPECT_TRUE(Lease::acquire(folder.path(), this_process(), {.clock = &clock}));
}

TEST(Lease, of_many_who_follow_one_does) {
  for (int round = 0; round < 20; ++round) {
    const TemporaryFolder folder;
    format::Owner dead = this_process();
    ++dead.process_start;
    write_locked_owner(folder / "owner", dead);
    if (round % 2 == 0) {  // somebody followed, and died before he was done
      format::Owner follower = this_process();
      ++follower.process_start;
      std::array<char, 64> name{};
      std::snprintf(name.data(), name.size(), "owner-after-%016llx",
                    static_cast<unsigned long long>(dead.nonce));
      write_locked_owner(folder / name.data(), follower);
    }
    std::vector<Result<std::unique_ptr<Lease>>> leases(8);
    std::vector<std::thread> threads;
    for (auto& lease : leases)
      threads.emplace_back([&] { lease = Lease::acquire(folder.path()); });
    for (std::thread& thread : threads)
      thread.join();
    const auto held = std::ranges::count_if(leases, [](const auto& one) { return bool(one); });
    ASSERT_EQ(held, 1) << "round " << round;
    for (const auto& lease : leases)
      EXPECT_TRUE(!lease || (*lease)->check());
  }
}

TEST(Lease, removes_what_attempts_of_long_ago_left_behind) {
  const TemporaryFolder folder;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const char* const name : {"owner-new-1", "owner-after-1", "owner-new-2", "other-new-1"}) {
    write_owner(folder / name, this_process());
    const bool is_recent = std::string_view(name).ends_with("2");
    std::filesystem::last_write_time(folder / name, now - std::chrono::minutes(is_recent ? 1 : 60));
  }
  const auto lease = Lease::acquire(folder.path());
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_FALSE(std::filesystem::exists(folder / "owner-new-1"));
  EXPECT_FALSE(std::filesystem::exists(folder / "owner-after-1"));
  EXPECT_TRUE(std::filesystem::exists(folder / "owner-new-2"));
  EXPECT_TRUE(std::filesystem::exists(folder / "other-new-1"));
}

TEST(Lease, of_another_host_that_is_silent_is_followed_after_a_while) {
  const TemporaryFolder folder;
  format::Owner far = this_process();
  far.host += "-far";
  far.boot_id = "another";
  write_owner(folder / "owner", far);
  SteppedClock clock;
  const auto lease = Lease::acquire(folder.path(), this_process(), {.clock = &clock});
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(clock.waited(), LeaseOptions().silence_ms_max);
}

// Numbers of processes say nothing there: that of a container may be anybody's here.
TEST(Lease, of_another_container_of_this_host_is_followed_only_when_it_is_silent) {
  for (const std::uint64_t other : {this_process().process_namespace + 1, std::uint64_t{0}}) {
    const TemporaryFolder folder;
    format::Owner near = this_process();
    near.process_namespace = other;
    ++near.process_start;
    {
      const auto held = Lease::acquire(folder.path(), near);
      ASSERT_TRUE(held);
      EXPECT_FALSE(Lease::acquire(folder.path()));
      EXPECT_TRUE((*held)->check());
    }
    write_owner(folder / "owner", near);
    SteppedClock clock;
    EXPECT_TRUE(Lease::acquire(folder.path(), this_process(), {.clock = &clock}));
    EXPECT_EQ(clock.waited(), LeaseOptions().silence_ms_max);
  }
}

TEST(Lease, of_a_process_of_which_too_little_is_known_is_followed_only_when_it_is_silent) {
  const TemporaryFolder folder;
  format::Owner hidden = this_process();
  hidden.process_start = 0;
  write_owner(folder / "owner", hidden);
  SteppedClock clock;
  EXPECT_TRUE(Lease::acquire(folder.path(), this_process(), {.clock = &clock}));
  EXPECT_EQ(clock.waited(), LeaseOptions().silence_ms_max);
}

TEST(Lease, is_found_in_its_own_folder_and_in_no_other) {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  const auto lease = Lease::acquire(folder.path());
  const auto another = Lease::acquire(other.path());
  ASSERT_TRUE(lease && another);
  const std::uint64_t nonce = (*lease)->owner().nonce;
  EXPECT_TRUE(find_lease(folder.path(), nonce, kLookTime));
  const Status wrong = find_lease(other.path(), nonce, kLookTime);
  ASSERT_EQ(error_class(wrong), ErrorClass::kInvalidArgument);
  EXPECT_EQ(wrong.error().path(), other.path());
  EXPECT_FALSE(find_lease(folder / "nowhere", nonce, kLookTime));
}

TEST(Lease, of_another_host_that_lives_is_left_in_peace) {
  const TemporaryFolder folder;
  format::Owner far = this_process();
  far.host += "-far";
  const auto held = Lease::acquire(folder.path(), far);
  ASSERT_TRUE(held);
  const auto lease = Lease::acquire(folder.path());
  ASSERT_FALSE(lease);
  EXPECT_NE(lease.error().message().find(far.host), std::string::npos) << lease.error().message();
  EXPECT_TRUE((*held)->check());
}

TEST(Lease, a_holder_that_was_followed_is_told_and_removes_nothing) {
  const TemporaryFolder folder;
  const auto held = Lease::acquire(folder.path());
  ASSERT_TRUE(held);
  std::filesystem::remove(folder / "owner");  // as the Error tells people to
  auto lease = Lease::acquire(folder.path());
  ASSERT_TRUE(lease);
  EXPECT_FALSE((*held)->check());
  EXPECT_TRUE((*lease)->check());
}

TEST(Lease, in_a_folder_that_is_not_there_is_an_error) {
  const TemporaryFolder folder;
  const auto lease = Lease::acquire(folder / "nowhere");
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().kind(), ErrorClass::kNotFound);
}

}  // namespace
}  // namespace forebay::write
