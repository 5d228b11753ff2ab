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

Error cannot_record(const std::string& path, int error_number) {
  return system_error({.operation = "record to",
                       .path = path,
                       .cause = "name a file that is not there yet, on a disk with space"},
                      error_number);
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::create(const std::string& path,
                                                   const std::string& backing) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return failure(cannot_record(path, errno));
  std::unique_ptr<Recorder> recorder(new Recorder(path, std::move(file)));
  recorder->broken_ = write_all(recorder->file_.get(), record_file_head());
  if (auto noted = recorder->note_folder(backing); !noted) {
    return failure(noted.error());
  }
  if (recorder->broken_ != 0) return failure(cannot_record(path, recorder->broken_));
  return recorder;
}

Status Recorder::note_folder(const std::string& path) {
  struct stat folder{};
  if (::lstat(path.c_str(), &folder) != 0) {
    return failure(system_error({.operation = "look at", .path = path}, errno));
  }
  append({.kind = RecordKind::kKnown, .file = id_of({folder.st_dev, folder.st_ino})});
  std::error_code problem;
  std::filesystem::recursive_directory_iterator entry(path, problem);
  for (; !problem && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(problem)) {
    struct stat above{};
    struct stat found{};
    if (::lstat(entry->path().parent_path().c_str(), &above) != 0) continue;
    if (::lstat(entry->path().c_str(), &found) != 0) continue;
    append({.kind = RecordKind::kKnown,
            .file = id_of({found.st_dev, found.st_ino}),
            .folder = id_of({above.st_dev, above.st_ino}),
            .name = entry->path().filename(),
            .size = static_cast<std::uint64_t>(found.st_size),
            .mode = found.st_mode,
            .user = found.st_uid,
            .group = found.st_gid});
  }
  if (!problem) return {};
  return failure(system_error({.operation = "look through", .path = path}, problem.value()));
}

void Recorder::append(const Record& record) {
  // A recording with a hole would tell a story that never was: after a failure it goes no further.
  if (broken_ != 0) return;
  const int written = write_all(file_.get(), encode(record, records_ + 1));
  if (written != 0) return break_off(written);
  ++records_;
}

void Recorder::break_off(int error_number) {
  if (broken_ != 0) return;
  broken_ = error_number;
  // In place, which takes no space. If it fails, the syncs that fail from now on tell.
  [[maybe_unused]] const ssize_t marked = ::pwrite(file_.get(), &kBrokeOff, 1, kAtBrokeOff);
}

std::uint64_t Recorder::records() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

int Recorder::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

}  // namespace forebay::emufs
