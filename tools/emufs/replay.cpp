// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/replay.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "tools/emufs/path_jail.hpp"
#include "tools/emufs/recording_reader.hpp"

namespace forebay::emufs {

namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr mode_t kModeBits = 07777;
/// Bound on nested directories. Paths of the kernel have fewer names.
constexpr std::size_t kDepthMax = 4096;

/// Number of the directory for files without a name, above all numbers of recordings.
constexpr std::uint64_t kOrphans = UINT64_MAX;

struct DirectoryEntry {
  std::uint64_t directory = 0;
  std::string name;
  friend auto operator<=>(const DirectoryEntry&, const DirectoryEntry&) = default;
};

/// Where each file of the recording lies in the directory now.
class Tree {
 public:
  using Names = std::vector<std::string_view>;

  void set_root(std::uint64_t file) { root_file_ = file; }
  void link(std::uint64_t file, const DirectoryEntry& name) {
    names_[file].push_back(name);
    files_[name] = file;
  }
  void unlink(std::uint64_t file, const DirectoryEntry& name) {
    std::erase(names_[file], name);
    files_.erase(name);
  }
  std::optional<std::uint64_t> at(const DirectoryEntry& name) const {
    const auto it = files_.find(name);
    return it == files_.end() ? std::nullopt : std::optional(it->second);
  }
  std::size_t count_of(std::uint64_t file) const {
    const auto it = names_.find(file);
    return it == names_.end() ? 0 : it->second.size();
  }
  /// One of its names. It must have at least one.
  const DirectoryEntry& name_of(std::uint64_t file) const { return names_.at(file).front(); }
  /// The names that lead to a file from the directory downwards, valid until the tree changes.
  /// ENOENT if none do, ELOOP if directories of the recording form a cycle.
  ErrnoResult<Names> names_to(std::uint64_t file) const {
    Names names;
    while (file != root_file_) {
      if (names.size() == kDepthMax) return errno_failure(ELOOP);
      if (count_of(file) == 0) return errno_failure(ENOENT);
      names.push_back(name_of(file).name);
      file = name_of(file).directory;
    }
    std::ranges::reverse(names);
    return names;
  }

 private:
  std::uint64_t root_file_ = 0;
  std::unordered_map<std::uint64_t, std::vector<DirectoryEntry>> names_;
  std::map<DirectoryEntry, std::uint64_t> files_;
};

int errno_of(int result) { return result == 0 ? 0 : errno; }

/// A directory below the target directory for files without a name, as a later record may give them
/// one. It is removed with its content at the end.
class OrphanDirectory {
 public:
  static Result<OrphanDirectory> make_in(const Descriptor& above, const std::string& path) {
    std::string directory = path_of(above) + "/.forebay-emufs-XXXXXX";
    if (::mkdtemp(directory.data()) != nullptr) return OrphanDirectory(std::move(directory));
    return failure(system_error({.operation = "create a directory in", .path = path}, errno));
  }
  ~OrphanDirectory() {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }
  OrphanDirectory(OrphanDirectory&& other) noexcept
      : directory_(std::exchange(other.directory_, {})) {}
  OrphanDirectory(const OrphanDirectory&) = delete;
  OrphanDirectory& operator=(const OrphanDirectory&) = delete;
  OrphanDirectory& operator=(OrphanDirectory&&) = delete;

  std::string name() const { return std::filesystem::path(directory_).filename(); }

 private:
  explicit OrphanDirectory(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

/// Repeats changes. Each call returns an errno, or 0. Names and files survive independently: a file
/// that has lost its name, or has none yet, is kept, so that a later rename can restore it.
class Replayer {
 public:
  /// `orphans` is the name of a directory in `directory`.
  Replayer(PathJail directory, std::string orphans)
      : directory_(std::move(directory)), orphan_directory_(std::move(orphans)) {}

  int apply(const Record& record);
  /// The change is lost; a file that it created may still get a name.
  int discard(const Record& record);
  /// Of a write, repeats the pages for which `is_kept(page)` is true.
  template <class IsKept>
  int write_pages(const Record& record, IsKept is_kept);

 private:
  int add_existing(const Record& record);
  int change_name(const Record& record);
  int make(const Record& record, const DirectoryEntry& name);
  int remove(const Record& record);
  int rename(const Record& record);
  int add_name(std::uint64_t file, const DirectoryEntry& name);
  int remove_name(std::uint64_t file, const DirectoryEntry& name);
  int clear(const DirectoryEntry& name);
  int move(std::uint64_t file, const DirectoryEntry& from, const DirectoryEntry& to);
  DirectoryEntry orphan_entry() { return {kOrphans, std::to_string(++orphan_count_)}; }
  ErrnoResult<Descriptor> open_file(std::uint64_t file) const;
  /// Empty if the recording has not created it.
  ErrnoResult<Descriptor> open_if_exists(std::uint64_t file) const;

  PathJail directory_;
  std::string orphan_directory_;
  std::uint64_t orphan_count_ = 0;
  Tree tree_;
};

ErrnoResult<Descriptor> Replayer::open_file(std::uint64_t file) const {
  const auto names = tree_.names_to(file);
  if (!names) return errno_failure(names.error());
  return directory_.open_path(*names);
}

ErrnoResult<Descriptor> Replayer::open_if_exists(std::uint64_t file) const {
  const auto names = tree_.names_to(file);
  if (!names && names.error() == ENOENT) return Descriptor();
  if (!names) return errno_failure(names.error());
  return directory_.open_path(*names);
}

/// Setting owners requires root; without it, the bytes are replayed all the same.
int set_owner_and_mode(const Descriptor& named, const Record& record) {
  struct stat is{};
  if (::fstat(named.get(), &is) != 0) return errno;
  const int owned = ::fchownat(named.get(), "", record.user, record.group, AT_EMPTY_PATH);
  if (owned != 0 && errno != EPERM) return errno;
  if (S_ISLNK(is.st_mode)) return 0;
  return errno_of(::chmod(path_of(named).c_str(), record.mode & kModeBits));
}

int make_file(const Record& record, int directory, const char* name) {
  const mode_t bits = record.mode & kModeBits;
  switch (record.kind) {
    case RecordKind::kCreate:
      return errno_of(::mknodat(directory, name, S_IFREG | bits, 0));
    case RecordKind::kMkdir:
      return errno_of(::mkdirat(directory, name, bits));
    case RecordKind::kSymlink:
      return errno_of(::symlinkat(record.data.c_str(), directory, name));
    default:
      return errno_of(::mknodat(directory, name, record.mode, record.size));
  }
}

int Replayer::make(const Record& record, const DirectoryEntry& name) {
  const auto directory = open_file(name.directory);
  if (!directory) return directory.error();
  if (const int failed = clear(name); failed != 0) return failed;
  const int made = make_file(record, directory->get(), name.name.c_str());
  if (made != 0) return made;
  tree_.link(record.file, name);
  const auto file = open_name(directory->get(), name.name.c_str());
  return file ? set_owner_and_mode(*file, record) : file.error();
}

int Replayer::move(std::uint64_t file, const DirectoryEntry& from, const DirectoryEntry& to) {
  const auto source = open_file(from.directory);
  if (!source) return source.error();
  const auto target = open_file(to.directory);
  if (!target) return target.error();
  if (::renameat(source->get(), from.name.c_str(), target->get(), to.name.c_str()) != 0) {
    // Where changes are lost, a rename may move a directory into itself.
    return errno == EINVAL ? 0 : errno;
  }
  tree_.unlink(file, from);
  tree_.link(file, to);
  return 0;
}

bool is_directory(const Descriptor& named) {
  struct stat is{};
  return ::fstat(named.get(), &is) == 0 && S_ISDIR(is.st_mode);
}

/// Adds a name: a further or the first one; a directory has only one.
int Replayer::add_name(std::uint64_t file, const DirectoryEntry& name) {
  if (tree_.count_of(file) == 0) return ENOENT;
  const auto found = open_file(file);
  if (!found) return found.error();
  const DirectoryEntry old = tree_.name_of(file);
  if (old.directory == kOrphans || is_directory(*found)) return move(file, old, name);
  const auto directory = open_file(name.directory);
  if (!directory) return directory.error();
  if (::linkat(AT_FDCWD, path_of(*found).c_str(), directory->get(), name.name.c_str(),
               AT_SYMLINK_FOLLOW) != 0) {
    return errno;
  }
  tree_.link(file, name);
  return 0;
}

int Replayer::remove_name(std::uint64_t file, const DirectoryEntry& name) {
  if (tree_.count_of(file) == 1) return move(file, name, orphan_entry());
  const auto directory = open_file(name.directory);
  if (!directory) return directory.error();
  const int removed = errno_of(::unlinkat(directory->get(), name.name.c_str(), 0));
  if (removed == 0) tree_.unlink(file, name);
  return removed;
}

int Replayer::clear(const DirectoryEntry& name) {
  const auto file = tree_.at(name);
  return file ? remove_name(*file, name) : 0;
}

int Replayer::remove(const Record& record) {
  const DirectoryEntry name{record.directory, record.name};
  if (tree_.at(name)) return clear(name);
  // The name is lost. A name that is not in our table is not in the directory either.
  const auto directory = open_file(record.directory);
  if (!directory) return directory.error();
  return is_directory(*directory) ? 0 : ENOTDIR;
}

int Replayer::rename(const Record& record) {
  const DirectoryEntry from{record.directory, record.name};
  const DirectoryEntry to{record.to_directory, record.to_name};
  const auto replaced = tree_.at(to);
  // Two names of one file: rename does nothing then.
  if (replaced == record.file) return 0;
  int result = clear(to);
  if (result != 0) return result;
  result = tree_.at(from) == record.file ? move(record.file, from, to) : add_name(record.file, to);
  const bool exchanges = (record.size & RENAME_EXCHANGE) != 0;
  if (result != 0 || !exchanges || !replaced) return result;
  result = clear(from);
  return result == 0 ? add_name(*replaced, from) : result;
}

timespec time_of(std::uint64_t nanoseconds) {
  constexpr std::int64_t kInSecond = 1'000'000'000;
  const auto since_1970 = static_cast<std::int64_t>(nanoseconds);
  // Also before 1970, nanoseconds count forwards.
  const std::int64_t part = (since_1970 % kInSecond + kInSecond) % kInSecond;
  return {since_1970 / kInSecond - (since_1970 % kInSecond < 0 ? 1 : 0), part};
}

int write_at(const Descriptor& file, std::string_view bytes, std::uint64_t offset) {
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

int change_data(const Record& record, const Descriptor& named) {
  const auto file = open_for_writing(named);
  if (!file) return file.error();
  const auto offset = static_cast<off_t>(record.offset);
  const auto size = static_cast<off_t>(record.size);
  switch (record.kind) {
    case RecordKind::kTruncate:
      return errno_of(::ftruncate(file->get(), size));
    case RecordKind::kFallocate:
      return errno_of(::fallocate(file->get(), static_cast<int>(record.mode), offset, size));
    default:
      return write_at(*file, record.data, record.offset);
  }
}

int change(const Record& record, const Descriptor& named) {
  const std::string path = path_of(named);
  const char* attribute = record.name.c_str();
  switch (record.kind) {
    case RecordKind::kAttributes:
      return set_owner_and_mode(named, record);
    case RecordKind::kTimes: {
      const timespec times[2] = {time_of(record.offset), time_of(record.size)};
      return errno_of(::utimensat(named.get(), "", times, AT_EMPTY_PATH));
    }
    case RecordKind::kSetXattr:
      return errno_of(
          ::setxattr(path.c_str(), attribute, record.data.data(), record.data.size(), 0));
    case RecordKind::kRemoveXattr:
      return errno_of(::removexattr(path.c_str(), attribute));
    default:
      return change_data(record, named);
  }
}

template <class IsKept>
int Replayer::write_pages(const Record& record, IsKept is_kept) {
  const auto found = open_if_exists(record.file);
  if (!found) return found.error();
  if (!*found) return 0;
  const auto file = open_for_writing(*found);
  if (!file) return file.error();
  const std::uint64_t end = record.offset + record.data.size();
  for (std::uint64_t at = record.offset; at < end;) {
    const std::uint64_t next = std::min(end, (at / kPageBytes + 1) * kPageBytes);
    const std::string_view page =
        std::string_view(record.data).substr(at - record.offset, next - at);
    const int written = is_kept(at / kPageBytes) ? write_at(*file, page, at) : 0;
    if (written != 0) return written;
    at = next;
  }
  return 0;
}

int Replayer::add_existing(const Record& record) {
  if (record.directory == 0) {
    tree_.set_root(record.file);
    tree_.link(kOrphans, {record.file, orphan_directory_});
  } else {
    tree_.link(record.file, {record.directory, record.name});
  }
  return 0;
}

int Replayer::change_name(const Record& record) {
  const DirectoryEntry name{record.directory, record.name};
  switch (record.kind) {
    case RecordKind::kLink: {
      const int cleared = clear(name);
      return cleared == 0 ? add_name(record.file, name) : cleared;
    }
    case RecordKind::kUnlink:
    case RecordKind::kRmdir:
      return remove(record);
    case RecordKind::kRename:
      return rename(record);
    default:
      return make(record, name);
  }
}

int Replayer::apply(const Record& record) {
  if (record.kind == RecordKind::kExisting) return add_existing(record);
  if (record.kind >= RecordKind::kFsync) return 0;
  if (record.kind <= RecordKind::kRename) return change_name(record);
  const auto file = open_if_exists(record.file);
  if (!file) return file.error();
  return *file ? change(record, *file) : 0;
}

int Replayer::discard(const Record& record) {
  return is_creation(record.kind) ? make(record, orphan_entry()) : 0;
}

/// All records without the bytes that they wrote.
Result<std::vector<Record>> read_outline(const std::string& path, std::uint64_t cut) {
  auto reader = RecordingReader::open(path);
  if (!reader) return failure(reader.error());
  std::vector<Record> records;
  while (records.size() < cut) {
    auto record = reader->next();
    if (!record) return failure(record.error());
    if (!*record) break;
    if ((*record)->kind == RecordKind::kWrite) (*record)->data.clear();
    records.push_back(std::move(**record));
  }
  return records;
}

/// Repeats or discards one record.
int apply_or_discard(Replayer& replayer,
                     const Record& record,
                     const SurvivingRecords& surviving,
                     const ReplayCommand& command,
                     ReplayResult& result) {
  const std::uint64_t number = ++result.records;
  if (surviving[number - 1]) {
    if (is_change(record.kind)) ++result.applied;
    return replayer.apply(record);
  }
  ++result.lost;
  if (!is_data_change(record.kind)) return replayer.discard(record);
  if (command.unsynced != Unsynced::kRandom) return 0;
  if (record.kind == RecordKind::kWrite) {
    return replayer.write_pages(
        record, [&](std::uint64_t page) { return is_page_kept(command.seed, number, page); });
  }
  return is_page_kept(command.seed, number, 0) ? replayer.apply(record) : 0;
}

}  // namespace

Result<ReplayResult> replay(const ReplayCommand& command) {
  std::error_code problem;
  std::filesystem::create_directories(command.directory, problem);
  const auto outline = read_outline(command.record, command.cut);
  if (!outline) return failure(outline.error());
  const auto surviving = surviving_records(*outline, {command.cut, command.unsynced, command.seed});
  auto reader = RecordingReader::open(command.record);
  if (!reader) return failure(reader.error());
  auto directory = PathJail::open(command.directory);
  if (!directory) return failure(directory.error());
  const auto root = directory->open_path({});
  if (!root)
    return failure(system_error({.operation = "open", .path = command.directory}, root.error()));
  const auto orphans = OrphanDirectory::make_in(*root, command.directory);
  if (!orphans) return failure(orphans.error());
  Replayer replayer(std::move(*directory), orphans->name());
  ReplayResult result{.is_incomplete = reader->is_incomplete()};
  ::umask(0);
  while (result.records < outline->size()) {
    const auto record = reader->next();
    if (!record) return failure(record.error());
    const int failed = apply_or_discard(replayer, **record, surviving, command, result);
    if (failed == 0) continue;
    return failure(system_error(
        {.operation = "replay record " + std::to_string(result.records) + " (" +
                      std::string(name_of((*record)->kind)) + ") in",
         .path = command.directory,
         .cause =
             "the directory must be as the backing directory was when recording began: empty, or "
             "a copy of it"},
        failed));
  }
  return result;
}

nlohmann::json to_json(const ReplayResult& result) {
  return {{"records", result.records},
          {"applied", result.applied},
          {"lost", result.lost},
          {"is_incomplete", result.is_incomplete}};
}

}  // namespace forebay::emufs
