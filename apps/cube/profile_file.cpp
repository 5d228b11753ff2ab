// SPDX-License-Identifier: Apache-2.0
#include "cube/profile_file.hpp"

#include <forebay/runtime.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace forebay::cube {

namespace {

/// The default readahead of Linux.
constexpr std::uint64_t kReadAheadBytes = 128ULL << 10U;

class PosixFile : public RandomAccessFile {
 public:
  PosixFile(std::string path, int descriptor, std::uint64_t size_bytes)
      : path_(std::move(path)), descriptor_(descriptor), size_bytes_(size_bytes) {}
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  ~PosixFile() override { ::close(descriptor_); }

  const std::string& path() const noexcept override { return path_; }
  std::uint64_t size_bytes() const noexcept override { return size_bytes_; }

  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    while (!into.empty()) {
      const ssize_t count =
          ::pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        const int reason = errno;
        return failure(
            system_error({.operation = "read", .path = path_, .offset_bytes = offset}, reason));
      }
      if (count == 0) return short_file_error(offset, into.size());
      offset += static_cast<std::uint64_t>(count);
      into = into.subspan(static_cast<std::size_t>(count));
    }
    return {};
  }

  /// Linux reads at most its readahead size per call, so several calls are needed.
  void prefetch(ByteRange range) const override {
    while (!range.empty()) {
      const std::uint64_t step = std::min(range.size, kReadAheadBytes);
      static_cast<void>(::posix_fadvise(descriptor_, static_cast<off_t>(range.offset),
                                        static_cast<off_t>(step), POSIX_FADV_WILLNEED));
      range = {range.offset + step, range.size - step};
    }
  }

 private:
  Status short_file_error(std::uint64_t offset, std::size_t missing_bytes) const {
    return failure(
        {.kind = ErrorClass::kShortFile,
         .operation = "read",
         .path = path_,
         .offset_bytes = offset,
         .cause = fmt::format("the file ends here; {} more bytes were expected", missing_bytes)});
  }

  const std::string path_;
  const int descriptor_;
  const std::uint64_t size_bytes_;
};

class SessionFile : public RandomAccessFile {
 public:
  SessionFile(std::unique_ptr<Runtime> runtime, File file, Session session)
      : runtime_(std::move(runtime)), file_(std::move(file)), session_(std::move(session)) {}
  const std::string& path() const noexcept override { return file_.path(); }
  std::uint64_t size_bytes() const noexcept override { return file_.size(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    const Result<ByteCount> count = session_.read(offset, into).wait();
    if (!count) return failure(count.error());
    return {};
  }
  void prefetch(ByteRange range) const override { session_.prefetch(range); }

 private:
  // In this order, so that the Runtime is destroyed last.
  std::unique_ptr<Runtime> runtime_;
  File file_;
  Session session_;
};

}  // namespace

Result<std::shared_ptr<const RandomAccessFile>> open_posix_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const int reason = errno;
    return failure(system_error({.operation = "open", .path = path}, reason));
  }
  struct stat status{};
  const int reason = ::fstat(descriptor, &status) == 0 ? 0 : errno;
  if (reason == 0 && S_ISREG(status.st_mode)) {
    return std::make_shared<PosixFile>(path, descriptor,
                                       static_cast<std::uint64_t>(status.st_size));
  }
  ::close(descriptor);
  if (reason != 0) {
    return failure(system_error({.operation = "open", .path = path}, reason));
  }
  return failure({.kind = ErrorClass::kUnsupported,
                  .operation = "open",
                  .path = path,
                  .cause = "not a regular file"});
}

Result<std::shared_ptr<const RandomAccessFile>> open_session_file(const std::string& path) {
  auto options = options_from_environment();
  if (!options) return failure(options.error());
  auto runtime = std::make_unique<Runtime>(std::move(*options));
  auto file = runtime->open_file(path);
  if (!file) return failure(file.error());
  auto session = file->read_session();
  if (!session) return failure(session.error());
  return std::make_shared<SessionFile>(std::move(runtime), std::move(*file), std::move(*session));
}

Result<Profile> open_profile(const std::string& path) {
  auto source = open_posix_file(path);
  if (!source) return failure(source.error());
  return Profile::open(std::move(*source));
}

Result<Profile> open_profile_for_scan(const std::string& path) {
  auto profile = open_profile(path);
  if (!profile) return profile;
  auto source = open_session_file(path);
  if (!source) return failure(source.error());
  profile->set_file(std::move(*source));
  return profile;
}

}  // namespace forebay::cube
