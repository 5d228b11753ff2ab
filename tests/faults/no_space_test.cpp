// SPDX-License-Identifier: Apache-2.0
// A full disk: each way of writing a file states the bytes that it wants and the bytes that are
// free.
#include <array>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "comm/collective_file.hpp"
#include "comm/communicator.hpp"
#include "comm/in_process.hpp"
#include "command/published_file.hpp"
#include "storage/file.hpp"
#include "write/lease.hpp"

namespace forebay {
namespace {

constexpr unsigned kAlarmSeconds = 60;
constexpr std::array<std::byte, 100> kBytes{};

/// From now on the disk is full, for this process.
bool fill_disk() {
  const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  const int write = ::seccomp_syscall_resolve_name("pwrite64");
  return filter != nullptr && ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSPC), write, 0) == 0 &&
         ::seccomp_load(filter) == 0;
}

Status write_file(const std::string& folder) {
  const auto file =
      storage::open_file(folder + "/file", {.intent = storage::Intent::kCreate}).value();
  return file->write_at(kBytes, 0).map([](std::size_t) {});
}

Status write_together(const std::string& folder) {
  const auto alone = comm::solo();
  const auto file =
      alone->open_file(folder + "/file", {.intent = comm::FileIntent::kCreate}).value();
  return file->write_at(kBytes, 0).map([](std::size_t) {});
}

Status publish(const std::string& folder) {
  return command::PublishedFile::create(folder + "/file").value().write(0, kBytes);
}

Status take_lease(const std::string& folder) {
  return write::Lease::acquire(folder).map([](const auto&) {});
}

/// Whether the error of `write()`, in a process that finds the disk full, states both.
void expect_both_numbers(const std::function<Status(const std::string&)>& write) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(kAlarmSeconds);
    if (!fill_disk()) ::_exit(1);
    const Status written = write(folder.path());
    if (written || written.error().error_number() != ENOSPC) ::_exit(2);
    const std::string& cause = written.error().cause();
    const bool has_both = cause.find(" bytes are wanted, the file system has ") != cause.npos;
    ::_exit(has_both ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(FullDisk, file_states_wanted_and_free_bytes) { expect_both_numbers(write_file); }

TEST(FullDisk, collective_file_states_wanted_and_free_bytes) {
  expect_both_numbers(write_together);
}

TEST(FullDisk, published_file_states_wanted_and_free_bytes) { expect_both_numbers(publish); }

TEST(FullDisk, lease_states_wanted_and_free_bytes) { expect_both_numbers(take_lease); }

}  // namespace
}  // namespace forebay
