// SPDX-License-Identifier: Apache-2.0
#include "private_mounts.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

namespace forebay::faults {

namespace {

std::string unshare_mounts() {
  if (::unshare(CLONE_NEWNS) != 0)
    return std::string("private mounts require root: ") + std::strerror(errno);
  // No mount of this process is visible elsewhere, and later mounts elsewhere do not appear here.
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return std::string("mounts cannot be made private: ") + std::strerror(errno);
  return {};
}

std::uint64_t free_bytes_of(const std::string& path) {
  struct statvfs facts{};
  EXPECT_EQ(::statvfs(path.c_str(), &facts), 0);
  return facts.f_bavail * facts.f_frsize;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::string private_mounts_unavailable_reason() {
  static const std::string reason = unshare_mounts();
  return reason;
}

std::string command_error(const std::vector<std::string>& words) {
  const TemporaryDirectory directory;
  const std::string output = directory / "output";
  std::vector<char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT,
                                     0600);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t process = -1;
  const int failed =
      ::posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return words[0] + ": " + std::strerror(failed);
  int status = 0;
  ::waitpid(process, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return words[0] + " failed: " + read_text(output);
}

LoopDisk::LoopDisk(const Plan& plan) : mount_point_(directory_ / "disk") {
  const std::string directory =
      plan.image_directory.empty() ? directory_.path() : plan.image_directory;
  const std::string image = directory + "/image";
  std::filesystem::create_directory(mount_point_);
  std::ofstream(image).close();
  std::filesystem::resize_file(image, plan.size_bytes);
  std::vector<std::string> make = plan.make;
  make.push_back(image);
  unavailable_reason_ = command_error(make);
  if (unavailable_reason_.empty())
    unavailable_reason_ = command_error({"mount", "-o", "loop", image, mount_point_});
}

LoopDisk::~LoopDisk() {
  if (!unavailable_reason_.empty()) return;
  EXPECT_EQ(::umount2(mount_point_.c_str(), MNT_DETACH), 0);
}

std::uint64_t LoopDisk::free_bytes() const { return free_bytes_of(mount_point_); }

SizedTmpfs::SizedTmpfs(std::uint64_t size_bytes) {
  const std::string options = "size=" + std::to_string(size_bytes);
  EXPECT_EQ(::mount("none", path().c_str(), "tmpfs", 0, options.c_str()), 0);
}

std::uint64_t SizedTmpfs::free_bytes() const { return free_bytes_of(path()); }

SizedTmpfs::~SizedTmpfs() { EXPECT_EQ(::umount2(path().c_str(), MNT_DETACH), 0); }

}  // namespace forebay::faults
