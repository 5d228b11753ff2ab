// SPDX-License-Identifier: Apache-2.0
#include <forebay/temporary_file.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/directory_entries.hpp"
#include "base/retry_on_eintr.hpp"

namespace forebay {

namespace {

constexpr int kLinksMax = 40;          // as many as the kernel follows
constexpr int kNameAttemptsMax = 100;  // of 2^64 names: chance needs at most a second attempt
constexpr std::size_t kSuffixBytes = 21;
constexpr mode_t kNewFileMode = 0666;
constexpr mode_t kModeBits = 07777;

tl::unexpected<Error> errno_failure(const char* operation,
                                    const std::string& path,
                                    int error_number) {
  return failure(system_error({.operation = operation, .path = path}, error_number));
}

/// The path that a name leads to through links. It need not exist.
Result<std::string> resolve_links(const std::string& path) {
  std::filesystem::path at(path);
  for (int links = 0; links < kLinksMax; ++links) {
    std::array<char, PATH_MAX> text{};
    const ssize_t size = ::readlink(at.c_str(), text.data(), text.size());
    if (size < 0) return at.string();  // not a link, or absent
    at = at.parent_path() / std::string(text.data(), static_cast<std::size_t>(size));
  }
  return errno_failure("create", path, ELOOP);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

/// The status of the file to be replaced. No value if it does not exist.
Result<std::optional<struct stat>> stat_target(const std::string& target) {
  struct stat found{};
  if (::stat(target.c_str(), &found) != 0) return std::optional<struct stat>();
  if (S_ISREG(found.st_mode)) return found;
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "create",
                  .path = target,
                  .cause = std::string("it is ") + kind_of(found.st_mode) +
                           ", which publishing would replace; "
                           "name a regular file"});
}

std::string temporary_name(const std::string& target) {
  std::uint64_t number = 0;
  // If a filter refuses the call, any number works: O_EXCL keeps names apart.
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number =
        static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  std::array<char, kSuffixBytes + 1> suffix{};
  std::snprintf(suffix.data(), suffix.size(), ".tmp-%016llx",
                static_cast<unsigned long long>(number));
  const std::filesystem::path path(target);
  const std::string name = path.filename().string().substr(0, NAME_MAX - kSuffixBytes);
  return (path.parent_path() / (name + suffix.data())).string();
}

/// Gives the file the owner, group and mode of the one that it replaces. If the owner or group
/// cannot be set, no other user gains rights: set-ID bits are cleared, and so are the rights of a
/// group that could not be kept.
Status copy_ownership(int descriptor, const struct stat& old, const std::string& path) {
  constexpr auto kSame = static_cast<uid_t>(-1);
  if (::fchown(descriptor, old.st_uid, old.st_gid) != 0) {
    [[maybe_unused]] const int kept = ::fchown(descriptor, kSame, old.st_gid);
  }
  struct stat made{};
  if (::fstat(descriptor, &made) != 0) return errno_failure("get the owner of", path, errno);
  mode_t mode = old.st_mode & kModeBits;
  const bool is_foreign_group = made.st_gid != old.st_gid;
  if (is_foreign_group) mode &= ~static_cast<mode_t>(S_IRWXG);
  if (is_foreign_group || made.st_uid != old.st_uid)
    mode &= ~static_cast<mode_t>(S_ISUID | S_ISGID);
  if (::fchmod(descriptor, mode) != 0) return errno_failure("set the mode of", path, errno);
  return {};
}

}  // namespace

Result<TemporaryFile> TemporaryFile::create_beside(const std::string& target) {
  // Status of the name itself: links such as /dev/stdout lead to no path.
  const auto old = stat_target(target);
  if (!old) return failure(old.error());
  auto resolved = resolve_links(target);
  if (!resolved) return failure(resolved.error());
  // Never readable by more users than the old file, not even for a moment.
  const mode_t mode = *old ? (*old)->st_mode & S_IRWXU : kNewFileMode;
  for (int attempt = 0; attempt < kNameAttemptsMax; ++attempt) {
    std::string path = temporary_name(*resolved);
    Descriptor made = open_path(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (!made && errno == EEXIST) continue;
    if (!made) return errno_failure("create", target, errno);
    TemporaryFile file(std::move(*resolved), std::move(path), made.release());
    if (!*old) return file;
    const Status taken = copy_ownership(file.descriptor_, **old, file.path_);
    if (!taken) return failure(taken.error());
    return file;
  }
  return errno_failure("create", target, EEXIST);
}

TemporaryFile::TemporaryFile(std::string target, std::string path, int descriptor)
    : target_(std::move(target)), path_(std::move(path)), descriptor_(descriptor) {}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : target_(std::move(other.target_)),
      path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      sync_errno_(other.sync_errno_),
      origin_(other.origin_) {}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (origin_.is_current()) ::unlink(path_.c_str());
}

Status TemporaryFile::publish() {
  if (sync_errno_ == 0 && retry_on_eintr([&] { return ::fsync(descriptor_); }) != 0)
    sync_errno_ = errno;
  if (sync_errno_ != 0) return errno_failure("sync", path_, sync_errno_);
  if (std::rename(path_.c_str(), target_.c_str()) != 0)
    return errno_failure("publish", target_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) return errno_failure("close", target_, errno);
  return sync_parent_directory(target_);
}

}  // namespace forebay
