// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/replay.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "tools/emufs/recording_files.hpp"

namespace forebay::emufs {

namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr mode_t kModeBits = 07777;

struct Name {
  std::uint64_t folder = 0;
  std::string name;
  friend bool operator==(const Name&, const Name&) = default;
};

/// Where each file of the recording lies in the folder now.
class Tree {
 public:
  explicit Tree(std::string root) : root_(std::move(root)) {}

  void set_root(std::uint64_t file) { root_file_ = file; }
  /// A new file by this number: an old one, whose number was free again, is no longer meant.
  void make(std::uint64_t file, Name name) { names_[file] = {std::move(name)}; }
  void link(std::uint64_t file, Name name) { names_[file].push_back(std::move(name)); }
  void unlink(std::uint64_t file, const Name& name) {
    if (const auto it = names_.find(file); it != names_.end()) std::erase(it->second, name);
  }
  std::optional<std::uint64_t> at(const Name& name) const {
    for (const auto& [file, names] : names_) {
      if (std::ranges::find(names, name) != names.end()) return file;
    }
    return std::nullopt;
  }
  /// None if no name leads there.
  std::optional<std::string> path_of(std::uint64_t file) const {
    if (file == root_file_) return root_;
    const auto it = names_.find(file);
    if (it == names_.end() || it->second.empty()) return std::nullopt;
    return path_of(it->second.front());
  }
  std::optional<std::string> path_of(const Name& name) const {
    const auto folder = path_of(name.folder);
    if (!folder) return std::nullopt;
    return *folder + "/" + name.name;
  }

 private:
  std::string root_;
  std::uint64_t root_file_ = 0;
  std::unordered_map<std::uint64_t, std::vector<Name>> names_;
};

int errno_of(int result) { return result == 0 ? 0 : errno; }

/// Makes changes once more. Each call gives an errno, or 0; what was unlinked is left alone.
class Replayer {
 public:
  explicit Replayer(std::string folder) : tree_(std::move(folder)) {}

  int apply(const Record& record);
  /// Of a write, the pages for which `survives(page)` is true.
  template <class Survives>
  int write_pages(const Record& record, Survives survives);

 private:
  int make(const Record& record, const std::string& path);
  int remove(const Record& record, const std::string& path);
  int rename(const Record& record, const std::string& path);
  int change(const Record& record, const std::string& path);
  int write_at(const std::string& path, std::string_view bytes, std::uint64_t offset);

  Tree tree_;
};

int Replayer::make(const Record& record, const std::string& path) {
  const char* name = path.c_str();
  int made = 0;
  switch (record.kind) {
    case RecordKind::kMkdir:
      made = ::mkdir(name, record.mode & kModeBits);
      break;
    case RecordKind::kSymlink:
      made = ::symlink(record.data.c_str(), name);
      break;
    default:
      made = ::mknod(name, record.mode, record.size);
  }
  if (made != 0) return errno;
  tree_.make(record.file, {record.folder, record.name});
  // Owners take root to set; the bytes are there all the same.
  if (::lchown(name, record.user, record.group) != 0 && errno != EPERM) return errno;
  if (record.kind == RecordKind::kSymlink) return 0;
  return errno_of(::chmod(name, record.mode & kModeBits));
}

int Replayer::remove(const Record& record, const std::string& path) {
  const int removed =
      errno_of(record.kind == RecordKind::kRmdir ? ::rmdir(path.c_str()) : ::unlink(path.c_str()));
  if (removed == 0) tree_.unlink(record.file, {record.folder, record.name});
  return removed;
}

int Replayer::rename(const Record& record, const std::string& path) {
  const Name from{record.folder, record.name};
  const Name to{record.to_folder, record.to_name};
  const auto target = tree_.path_of(to);
  if (!target) return ENOENT;
  const auto replaced = tree_.at(to);
  const auto flags = static_cast<unsigned>(record.size);
  if (::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, target->c_str(), flags) != 0) return errno;
  // Two names of one file: rename does nothing then.
  if (replaced == record.file) return 0;
  if (replaced) tree_.unlink(*replaced, to);
  if (replaced && (flags & RENAME_EXCHANGE) != 0) tree_.link(*replaced, from);
  tree_.unlink(record.file, from);
  tree_.link(record.file, to);
  return 0;
}

timespec time_of(std::uint64_t nanoseconds) {
  constexpr std::uint64_t kInSecond = 1'000'000'000;
  return {static_cast<time_t>(nanoseconds / kInSecond), static_cast<long>(nanoseconds % kInSecond)};
}

int allocate(const std::string& path, const Record& record) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  return errno_of(::fallocate(file.get(), static_cast<int>(record.mode),
                              static_cast<off_t>(record.offset), static_cast<off_t>(record.size)));
}

int Replayer::change(const Record& record, const std::string& path) {
  const char* name = path.c_str();
  switch (record.kind) {
    case RecordKind::kTruncate:
      return errno_of(::truncate(name, static_cast<off_t>(record.size)));
    case RecordKind::kAttributes:
      if (::lchown(name, record.user, record.group) != 0 && errno != EPERM) return errno;
      return S_ISLNK(record.mode) ? 0 : errno_of(::chmod(name, record.mode & kModeBits));
    case RecordKind::kTimes: {
      const timespec times[2] = {time_of(record.offset), time_of(record.size)};
      return errno_of(::utimensat(AT_FDCWD, name, times, AT_SYMLINK_NOFOLLOW));
    }
    case RecordKind::kSetXattr:
      return errno_of(
          ::setxattr(name, record.name.c_str(), record.data.data(), record.data.size(), 0));
    case RecordKind::kRemoveXattr:
      return errno_of(::removexattr(name, record.name.c_str()));
    case RecordKind::kFallocate:
      return allocate(path, record);
    case RecordKind::kWrite:
      return write_at(path, record.data, record.offset);
    default:
      return 0;
  }
}

int Replayer::write_at(const std::string& path, std::string_view bytes, std::uint64_t offset) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  while (!bytes.empty()) {
    const auto written =
        ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

template <class Survives>
int Replayer::write_pages(const Record& record, Survives survives) {
  const auto path = tree_.path_of(record.file);
  if (!path) return 0;
  const std::uint64_t end = record.offset + record.data.size();
  for (std::uint64_t at = record.offset; at < end;) {
    const std::uint64_t next = std::min(end, (at / kPageBytes + 1) * kPageBytes);
    const std::string_view page =
        std::string_view(record.data).substr(at - record.offset, next - at);
    const int written = survives(at / kPageBytes) ? write_at(*path, page, at) : 0;
    if (written != 0) return written;
    at = next;
  }
  return 0;
}

int Replayer::apply(const Record& record) {
  if (record.kind == RecordKind::kKnown) {
    if (record.folder == 0) {
      tree_.set_root(record.file);
    } else {
      tree_.link(record.file, {record.folder, record.name});
    }
    return 0;
  }
  if (record.kind >= RecordKind::kFsync) return 0;
  const bool by_name = record.kind <= RecordKind::kRename;
  const auto path =
      by_name ? tree_.path_of({record.folder, record.name}) : tree_.path_of(record.file);
  if (!path) return by_name ? ENOENT : 0;
  switch (record.kind) {
    case RecordKind::kCreate:
    case RecordKind::kMkdir:
    case RecordKind::kSymlink:
    case RecordKind::kMknod:
      return make(record, *path);
    case RecordKind::kLink: {
      const auto old = tree_.path_of(record.file);
      if (!old || ::link(old->c_str(), path->c_str()) != 0) return old ? errno : ENOENT;
      tree_.link(record.file, {record.folder, record.name});
      return 0;
    }
    case RecordKind::kUnlink:
    case RecordKind::kRmdir:
      return remove(record, *path);
    case RecordKind::kRename:
      return rename(record, *path);
    default:
      return change(record, *path);
  }
}

bool is_data(RecordKind kind) {
  return kind == RecordKind::kWrite || kind == RecordKind::kTruncate ||
         kind == RecordKind::kFallocate;
}

/// All records without the bytes that they wrote.
Result<std::vector<Record>> read_outline(const std::string& path, std::uint64_t cut) {
  auto reader = RecordingReader::open(path);
  if (!reader) return tl::unexpected<Error>(reader.error());
  std::vector<Record> records;
  while (records.size() < cut) {
    auto record = reader->next();
    if (!record) return tl::unexpected<Error>(record.error());
    if (!*record) break;
    if ((*record)->kind == RecordKind::kWrite) (*record)->data.clear();
    records.push_back(std::move(**record));
  }
  return records;
}

/// What becomes of one record.
int apply_or_lose(Replayer& replayer,
                  const Record& record,
                  const Survivors& survivors,
                  const ReplayCommand& command,
                  Replayed& replayed) {
  const std::uint64_t number = ++replayed.records;
  const bool data = is_data(record.kind);
  const bool there = data ? survivors.data[number - 1] : number <= survivors.names_until;
  if (there || record.kind == RecordKind::kKnown) {
    if (is_change(record.kind)) ++replayed.applied;
    return replayer.apply(record);
  }
  if (is_change(record.kind)) ++replayed.lost;
  if (!data || command.unsynced != Unsynced::kRandom) return 0;
  if (record.kind == RecordKind::kWrite) {
    return replayer.write_pages(
        record, [&](std::uint64_t page) { return page_survives(command.seed, number, page); });
  }
  return page_survives(command.seed, number, 0) ? replayer.apply(record) : 0;
}

}  // namespace

Result<Replayed> replay(const ReplayCommand& command) {
  std::error_code problem;
  std::filesystem::create_directories(command.folder, problem);
  const auto outline = read_outline(command.record, command.cut);
  if (!outline) return tl::unexpected<Error>(outline.error());
  const auto survivors = survivors_of(*outline, {command.cut, command.unsynced, command.seed});
  auto reader = RecordingReader::open(command.record);
  if (!reader) return tl::unexpected<Error>(reader.error());
  Replayer replayer(std::filesystem::absolute(command.folder).lexically_normal());
  Replayed replayed;
  ::umask(0);
  while (replayed.records < outline->size()) {
    const auto record = reader->next();
    if (!record) return tl::unexpected<Error>(record.error());
    const int failed = apply_or_lose(replayer, **record, survivors, command, replayed);
    if (failed == 0) continue;
    return tl::unexpected<Error>(system_error(
        {.operation = "replay record " + std::to_string(replayed.records) + " (" +
                      std::string(name_of((*record)->kind)) + ") in",
         .path = command.folder,
         .cause = "the folder must be as the backing folder was when recording began: empty, or "
                  "a copy of it"},
        failed));
  }
  return replayed;
}

nlohmann::json to_json(const Replayed& replayed) {
  return {{"records", replayed.records}, {"applied", replayed.applied}, {"lost", replayed.lost}};
}

}  // namespace forebay::emufs
