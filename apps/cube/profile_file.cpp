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

/// What Linux reads ahead where nobody has set it otherwise.
constexpr std::uint64_t kReadAheadBytes = 128ULL << 10U;

class PlainSource : public ByteSource {
 public:
  PlainSource(std::string path, int descriptor, std::uint64_t size_bytes)
      : path_(std::move(path)), descriptor_(descriptor), size_bytes_(size_bytes) {}
  PlainSource(const PlainSource&) = delete;
  PlainSource& operator=(const PlainSource&) = delete;
  ~PlainSource() override { ::close(descriptor_); }

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
      if (count == 0) return ends(offset, into.size());
      offset += static_cast<std::uint64_t>(count);
      into = into.subspan(static_cast<std::size_t>(count));
    }
    return {};
  }

  /// Linux reads no more for one call than it reads ahead by itself: hence many of them.
  void expect(ByteRange range) const override {
    while (!range.empty()) {
      const std::uint64_t step = std::min(range.size, kReadAheadBytes);
      static_cast<void>(::posix_fadvise(descriptor_, static_cast<off_t>(range.offset),
                                        static_cast<off_t>(step), POSIX_FADV_WILLNEED));
      range = {range.offset + step, range.size - step};
    }
  }

 private:
  Status ends(std::uint64_t offset, std::size_t missing_bytes) const {
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

class SessionSource : public ByteSource {
 public:
  SessionSource(std::unique_ptr<Runtime> runtime, File file, Session session)
      : runtime_(std::move(runtime)), file_(std::move(file)), session_(std::move(session)) {}
  const std::string& path() const noexcept override { return file_.path(); }
  std::uint64_t size_bytes() const noexcept override { return file_.size(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    const Result<ByteCount> count = session_.read(offset, into).wait();
    if (!count) return failure(count.error());
    return {};
  }
  void expect(ByteRange range) const override { session_.prefetch(range); }

 private:
  // In this order, so that the Runtime goes last.
  std::unique_ptr<Runtime> runtime_;
  File file_;
  Session session_;
};

}  // namespace

Result<std::shared_ptr<const ByteSource>> open_plain_source(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const int reason = errno;
    return failure(system_error({.operation = "open", .path = path}, reason));
  }
  struct stat status{};
  const int reason = ::fstat(descriptor, &status) == 0 ? 0 : errno;
  if (reason == 0 && S_ISREG(status.st_mode)) {
    return std::make_shared<PlainSource>(path, descriptor,
                                         static_cast<std::uint64_t>(status.st_size));
  }
  ::close(descriptor);
  if (reason != 0) {
    return failure(system_error({.operation = "open", .path = path}, reason));
  }
  return failure({.kind = ErrorClass::kUnsupported,
                  .operation = "open",
                  .path = path,
                  .cause = "not an ordinary file"});
}

Result<std::shared_ptr<const ByteSource>> open_session_source(const std::string& path) {
  auto options = options_from_environment();
  if (!options) return failure(options.error());
  auto runtime = std::make_unique<Runtime>(std::move(*options));
  auto file = runtime->open(path);
  if (!file) return failure(file.error());
  auto session = file->read_session();
  if (!session) return failure(session.error());
  return std::make_shared<SessionSource>(std::move(runtime), std::move(*file), std::move(*session));
}

Result<Profile> open_profile(const std::string& path) {
  auto source = open_plain_source(path);
  if (!source) return failure(source.error());
  return Profile::open(std::move(*source));
}

Result<Profile> open_profile_to_read_all(const std::string& path) {
  auto profile = open_profile(path);
  if (!profile) return profile;
  auto source = open_session_source(path);
  if (!source) return failure(source.error());
  profile->read_through(std::move(*source));
  return profile;
}

}  // namespace forebay::cube
