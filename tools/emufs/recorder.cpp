// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/recorder.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/emufs/inodes.hpp"

namespace forebay::emufs {

namespace {

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

Error record_error(const std::string& path, int error_number) {
  return system_error({.operation = "record to",
                       .path = path,
                       .cause = "name a file that does not exist, on a disk with free space"},
                      error_number);
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::create(const std::string& path,
                                                   const std::string& backing) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return failure(record_error(path, errno));
  std::unique_ptr<Recorder> recorder(new Recorder(path, std::move(file)));
  recorder->write_error_ = write_all(recorder->file_.get(), recording_header());
  if (auto noted = recorder->record_existing(backing); !noted) {
    return failure(noted.error());
  }
  if (recorder->write_error_ != 0) return failure(record_error(path, recorder->write_error_));
  return recorder;
}

Status Recorder::record_existing(const std::string& path) {
  struct stat directory{};
  if (::lstat(path.c_str(), &directory) != 0) {
    return failure(system_error({.operation = "get attributes of", .path = path}, errno));
  }
  append({.kind = RecordKind::kExisting, .file = id_of({directory.st_dev, directory.st_ino})});
  std::error_code problem;
  std::filesystem::recursive_directory_iterator entry(path, problem);
  for (; !problem && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(problem)) {
    struct stat above{};
    struct stat found{};
    if (::lstat(entry->path().parent_path().c_str(), &above) != 0) continue;
    if (::lstat(entry->path().c_str(), &found) != 0) continue;
    append({.kind = RecordKind::kExisting,
            .file = id_of({found.st_dev, found.st_ino}),
            .directory = id_of({above.st_dev, above.st_ino}),
            .name = entry->path().filename(),
            .size = static_cast<std::uint64_t>(found.st_size),
            .mode = found.st_mode,
            .user = found.st_uid,
            .group = found.st_gid});
  }
  if (!problem) return {};
  return failure(system_error({.operation = "list the directory", .path = path}, problem.value()));
}

void Recorder::append(const Record& record) {
  // Replaying a recording with a gap would give states that never existed: recording stops after a
  // failure.
  if (write_error_ != 0) return;
  const int written = write_all(file_.get(), encode(record, records_ + 1));
  if (written != 0) return mark_incomplete(written);
  ++records_;
}

void Recorder::mark_incomplete(int error_number) {
  if (write_error_ != 0) return;
  write_error_ = error_number;
  // In place, which takes no space. If it fails, later failing syncs still report the loss.
  [[maybe_unused]] const ssize_t marked =
      ::pwrite(file_.get(), &kIncompleteMark, 1, kIncompleteOffset);
}

std::uint64_t Recorder::records() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

int Recorder::write_error() const {
  const std::lock_guard lock(mutex_);
  return write_error_;
}

}  // namespace forebay::emufs
