// SPDX-License-Identifier: Apache-2.0
// A full disk: each way to write a file reports the bytes it needs and the free bytes.
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
#include "command/atomic_file.hpp"
#include "storage/file.hpp"
#include "write/lease.hpp"

namespace forebay {
namespace {

constexpr unsigned kAlarmSeconds = 60;
constexpr std::array<std::byte, 100> kBytes{};

/// Makes writes of this process fail with ENOSPC.
bool fill_disk() {
  const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  const int write = ::seccomp_syscall_resolve_name("pwrite64");
  return filter != nullptr && ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSPC), write, 0) == 0 &&
         ::seccomp_load(filter) == 0;
}

Status write_file(const std::string& directory) {
  const auto file =
      storage::open_file(directory + "/file", {.intent = storage::Intent::kCreate}).value();
  return file->write_at(kBytes, 0).map([](std::size_t) {});
}

Status write_collectively(const std::string& directory) {
  const auto alone = comm::self_communicator();
  const auto file =
      alone->open_file(directory + "/file", {.intent = comm::FileIntent::kCreate}).value();
  return file->write_at(kBytes, 0).map([](std::size_t) {});
}

Status publish(const std::string& directory) {
  return command::AtomicFile::create(directory + "/file").value().write(0, kBytes);
}

Status acquire_lease(const std::string& directory) {
  return write::Lease::acquire(directory).map([](const auto&) {});
}

/// Checks that the error of `write()` has both numbers, in a process whose disk is full.
void expect_both_numbers(const std::function<Status(const std::string&)>& write) {
  const TemporaryDirectory directory;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(kAlarmSeconds);
    if (!fill_disk()) ::_exit(1);
    const Status written = write(directory.path());
    if (written || written.error().error_number() != ENOSPC) ::_exit(2);
    const std::string& cause = written.error().cause();
    const bool has_both = cause.find(" bytes are requested, the file system has ") != cause.npos;
    ::_exit(has_both ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(FullDisk, file_error_has_required_and_free_bytes) { expect_both_numbers(write_file); }

TEST(FullDisk, collective_file_error_has_required_and_free_bytes) {
  expect_both_numbers(write_collectively);
}

TEST(FullDisk, published_file_error_has_required_and_free_bytes) { expect_both_numbers(publish); }

TEST(FullDisk, lease_error_has_required_and_free_bytes) { expect_both_numbers(acquire_lease); }

}  // namespace
}  // namespace forebay
