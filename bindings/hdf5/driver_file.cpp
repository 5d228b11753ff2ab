// SPDX-License-Identifier: Apache-2.0
#include "hdf5/driver_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hdf5/open_files.hpp"

namespace forebay::hdf5 {
namespace {

constexpr std::uint64_t kSessionBytesMin = 256_KiB;  // smaller files gain nothing
constexpr std::size_t kCallBytesMax = 0x7ffff000;    // Linux transfers no more in one call
// Bits of a superblock of version 3 (HDF5 file format, "consistency flags").
constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
constexpr std::size_t kVersionOffset = 8;
constexpr std::size_t kConsistencyOffset = 11;
constexpr unsigned kSwmrWriteFlag = 0x04;

bool is_same_content(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
         one.st_mtim.tv_sec == other.st_mtim.tv_sec && one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

// True for the superblock that announces readers beside the writer: H5Fstart_swmr_write().
bool starts_swmr(std::span<const std::byte> bytes) {
  return bytes.size() > kConsistencyOffset &&
         std::memcmp(bytes.data(), kSignature.data(), kSignature.size()) == 0 &&
         std::to_integer<unsigned>(bytes[kVersionOffset]) >= 3 &&
         (std::to_integer<unsigned>(bytes[kConsistencyOffset]) & kSwmrWriteFlag) != 0;
}

std::optional<std::uint64_t DriverOptions::*> member_for(std::string_view name) {
  if (name == "read_budget") return &DriverOptions::read_budget_bytes;
  if (name == "write_budget") return &DriverOptions::write_budget_bytes;
  return std::nullopt;
}

}  // namespace

Result<DriverOptions> parse_driver_options(std::string_view text) {
  DriverOptions options;
  while (!text.empty()) {
    const std::string_view setting = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), setting.size() + 1));
    const std::size_t equals = setting.find('=');
    const auto member = member_for(setting.substr(0, equals));
    if (!member || equals == std::string_view::npos)
      return failure({.kind = ErrorClass::kInvalidArgument,
                      .operation = "configure driver",
                      .cause = "unknown setting '" + std::string(setting) +
                               "'; HDF5_DRIVER_CONFIG takes read_budget=SIZE,write_budget=SIZE"});
    const Result<std::uint64_t> size = parse_size(setting.substr(equals + 1));
    if (!size) return failure(with_note(size.error(), "in '" + std::string(setting) + "'"));
    options.** member = *size;
  }
  return options;
}

Result<std::unique_ptr<DriverFile>> DriverFile::open(OpenRequest request,
                                                     const DriverOptions& options) {
  // Before the file is created or truncated.
  if (const Result<Runtime*> runtime = OpenFiles::instance().runtime(); !runtime)
    return failure(runtime.error());
  const int flags = request.flags;
  const int descriptor = ::open(request.path.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return failure(system_error({.operation = "open", .path = request.path}, errno));
  std::error_code ignored;
  const auto absolute = std::filesystem::absolute(request.path, ignored);
  if (!absolute.empty()) request.path = absolute.string();
  auto file = std::unique_ptr<DriverFile>(new DriverFile(std::move(request), options, descriptor));
  if (::fstat(descriptor, &file->status_) != 0) return failure(file->system_failure("stat"));
  file->end_ = static_cast<std::uint64_t>(file->status_.st_size);
  file->is_writable_ = (flags & O_ACCMODE) == O_RDWR;
  OpenFiles::instance().add(*file);
  return file;
}

void DriverFile::release_runtime() noexcept { OpenFiles::instance().release_runtime(); }

DriverFile::~DriverFile() {
  if (descriptor_ >= 0) static_cast<void>(close());
}

Status DriverFile::close() {
  OpenFiles::instance().remove(*this);
  const std::lock_guard lock(mutex_);
  Status status = drain();
  session_.reset();
  write_behind_.reset();
  if (::close(std::exchange(descriptor_, -1)) != 0 && status)
    status = failure(system_failure("close"));
  return status;
}

Error DriverFile::system_failure(const char* operation, std::optional<std::uint64_t> offset) const {
  return system_error({.operation = operation, .path = path_, .offset_bytes = offset}, errno);
}

Status DriverFile::read(std::uint64_t offset, std::span<std::byte> into) {
  const std::lock_guard lock(mutex_);
  if (write_error_) return failure(*write_error_);
  if (write_behind_ != nullptr && write_behind_->is_pending({offset, into.size()})) {
    if (write_behind_->read(offset, into)) return {};
    if (const Status drained = drain(); !drained) return drained;
  }
  return read_ahead(offset, into) ? Status() : read_plain(offset, into);
}

Status DriverFile::read_plain(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t count = ::pread(descriptor_, into.data(), std::min(into.size(), kCallBytesMax),
                                  static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(system_failure("read", offset));
    if (count == 0) break;
    offset += static_cast<std::uint64_t>(count);
    into = into.subspan(static_cast<std::size_t>(count));
  }
  std::ranges::fill(into, std::byte{0});
  return {};
}

// A session gains nothing while the file is in the page cache. It begins with the first read that
// would wait, and observes all reads from then on.
bool DriverFile::read_cached(std::uint64_t offset, std::span<std::byte> into) {
  if (!options_.is_page_cache_first) return false;
  struct iovec target{into.data(), into.size()};
  const ssize_t count = ::preadv2(descriptor_, &target, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  if (count == std::ssize(into)) return true;
  options_.is_page_cache_first = false;
  return false;
}

// After any failure of the session, a plain read returns the bytes or the Error.
bool DriverFile::read_ahead(std::uint64_t offset, std::span<std::byte> into) {
  if (is_plain_ || options_.read_budget_bytes == 0) return false;
  if (read_cached(offset, into)) return true;
  if (!has_session_for({offset, into.size()})) return false;
  if (!is_writable_ && !is_locked_ && !is_unchanged()) {
    is_plain_ = true;  // another process writes it
    session_.reset();
    return false;
  }
  return session_->read(offset, into).wait().has_value();
}

// Opens a session, again once the file has twice the size.
bool DriverFile::has_session_for(ByteRange range) {
  const std::uint64_t known = session_ ? session_->extent().end() : kSessionBytesMin / 2;
  if (range.end() > (session_ ? known : 0) && end_ >= 2 * known) open_session();
  return session_ && range.end() <= session_->extent().end();
}

bool DriverFile::is_unchanged() const {
  struct stat now{};
  return ::fstat(descriptor_, &now) == 0 && is_same_content(now, status_);
}

void DriverFile::open_session() {
  session_.reset();
  struct stat before{};
  struct stat found{};
  const bool is_known = drain() && ::fstat(descriptor_, &before) == 0;
  const Result<Runtime*> runtime = OpenFiles::instance().runtime();
  Result<File> file = failure({.kind = ErrorClass::kNotFound, .path = path_});
  if (is_known && runtime) file = (*runtime)->open_file(path_);
  if (file) {
    const ReadPlan plan{.mode = Mode::kOnDemand, .budget_bytes = options_.read_budget_bytes};
    Result<Session> session = file->read_session(plan);
    // The name may lead to another file by now.
    if (session && ::stat(path_.c_str(), &found) == 0 && is_same_content(before, found))
      session_ = std::move(*session);
  }
  if (is_known) status_ = before;
  if (!session_) options_.read_budget_bytes = 0;
}

Status DriverFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  if (write_error_) return failure(*write_error_);
  if (starts_swmr(bytes))
    if (const Status plain = become_plain(); !plain) return plain;
  Status status = open_stream();
  if (status && write_behind_ != nullptr) {
    status = write_behind_->write(offset, bytes);
    if (!status) write_error_ = status.error();
  } else if (status) {
    status = write_plain(offset, bytes);
  }
  if (status) end_ = std::max(end_, offset + bytes.size());
  return status;
}

Status DriverFile::open_stream() {
  if (is_plain_ || write_behind_ != nullptr || options_.write_budget_bytes == 0) return {};
  struct stat found{};
  const Result<Runtime*> runtime = OpenFiles::instance().runtime();
  if (!runtime) return failure(runtime.error());
  auto opened = WriteBehind::open(**runtime, path_, options_.write_budget_bytes);
  const bool is_same = ::stat(path_.c_str(), &found) == 0 && found.st_dev == status_.st_dev &&
                       found.st_ino == status_.st_ino;
  if (opened && is_same)
    write_behind_ = std::move(*opened);
  else
    options_.write_budget_bytes = 0;  // the name leads to another file
  return {};
}

// A session does not observe these writes.
Status DriverFile::write_plain(std::uint64_t offset, std::span<const std::byte> bytes) {
  session_.reset();
  options_.read_budget_bytes = 0;
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), std::min(bytes.size(), kCallBytesMax),
                                   static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(system_failure("write", offset));
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Status DriverFile::drain() {
  if (write_error_) return failure(*write_error_);
  if (write_behind_ == nullptr) return {};
  Status drained = write_behind_->drain();
  if (!drained) write_error_ = drained.error();
  return drained;
}

Status DriverFile::flush() {
  const std::lock_guard lock(mutex_);
  return drain();
}

Status DriverFile::truncate(std::uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  if (const Status drained = drain(); !drained) return drained;
  if (size_bytes == end_) return {};
  if (size_bytes < end_) session_.reset();  // it may hold bytes that become zeros
  if (::ftruncate(descriptor_, static_cast<off_t>(size_bytes)) != 0)
    return failure(system_failure("truncate", size_bytes));
  end_ = size_bytes;
  return {};
}

Status DriverFile::become_plain() {
  const Status drained = drain();
  is_plain_ = true;
  session_.reset();
  write_behind_.reset();
  return drained;
}

Status DriverFile::lock(LockKind kind) {
  const std::lock_guard lock(mutex_);
  if (::flock(descriptor_, (kind == LockKind::kExclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0)
    return failure(system_failure("lock"));
  is_locked_ = true;
  return {};
}

Status DriverFile::unlock() {
  const std::lock_guard lock(mutex_);
  if (const Status plain = become_plain(); !plain) return plain;
  is_locked_ = false;
  if (::flock(descriptor_, LOCK_UN) != 0) return failure(system_failure("unlock"));
  return {};
}

Result<int*> DriverFile::share_descriptor() {
  const std::lock_guard lock(mutex_);
  if (const Status plain = become_plain(); !plain) return failure(plain.error());
  return &descriptor_;
}

}  // namespace forebay::hdf5
