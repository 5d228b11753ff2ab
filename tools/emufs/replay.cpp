// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/replay.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <unordered_map>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "tools/emufs/enclosure.hpp"
#include "tools/emufs/recording_files.hpp"

namespace forebay::emufs {

namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr mode_t kModeBits = 07777;
/// Of folders in each other. Paths of the kernel have fewer names.
constexpr std::size_t kDepthMax = 4096;

struct Name {
  std::uint64_t folder = 0;
  std::string name;
  friend bool operator==(const Name&, const Name&) = default;
};

/// Where each file of the recording lies in the folder now.
class Tree {
 public:
  using Names = std::vector<std::string_view>;

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
  /// The names that lead to a file from the folder downwards, valid until the tree changes. ENOENT
  /// if none do, ELOOP if a recording says that folders lie in each other.
  Outcome<Names> names_to(std::uint64_t file) const {
    Names names;
    while (file != root_file_) {
      if (names.size() == kDepthMax) return fails(ELOOP);
      const auto it = names_.find(file);
      if (it == names_.end() || it->second.empty()) return fails(ENOENT);
      names.push_back(it->second.front().name);
      file = it->second.front().folder;
    }
    std::ranges::reverse(names);
    return names;
  }

 private:
  std::uint64_t root_file_ = 0;
  std::unordered_map<std::uint64_t, std::vector<Name>> names_;
};

int errno_of(int result) { return result == 0 ? 0 : errno; }

/// Makes changes once more. Each call gives an errno, or 0; what was unlinked is left alone.
class Replayer {
 public:
  explicit Replayer(Enclosure folder) : folder_(std::move(folder)) {}

  int apply(const Record& record);
  /// Of a write, the pages for which `survives(page)` is true.
  template <class Survives>
  int write_pages(const Record& record, Survives survives);

 private:
  int know(const Record& record);
  int change_name(const Record& record);
  int make(const Record& record, int folder);
  int link(const Record& record, int folder);
  int remove(const Record& record, int folder);
  int rename(const Record& record, int folder);
  Outcome<Descriptor> named(std::uint64_t file) const;
  /// Empty if no name leads there any more.
  Outcome<Descriptor> still_named(std::uint64_t file) const;

  Enclosure folder_;
  Tree tree_;
};

Outcome<Descriptor> Replayer::named(std::uint64_t file) const {
  const auto names = tree_.names_to(file);
  if (!names) return fails(names.error());
  return folder_.at(*names);
}

Outcome<Descriptor> Replayer::still_named(std::uint64_t file) const {
  const auto names = tree_.names_to(file);
  if (!names && names.error() == ENOENT) return Descriptor();
  if (!names) return fails(names.error());
  return folder_.at(*names);
}

/// Owners take root to set; the bytes are there all the same.
int set_owner_and_mode(const Descriptor& named, const Record& record) {
  struct stat is{};
  if (::fstat(named.get(), &is) != 0) return errno;
  const int owned = ::fchownat(named.get(), "", record.user, record.group, AT_EMPTY_PATH);
  if (owned != 0 && errno != EPERM) return errno;
  if (S_ISLNK(is.st_mode)) return 0;
  return errno_of(::chmod(path_of(named).c_str(), record.mode & kModeBits));
}

int Replayer::make(const Record& record, int folder) {
  const char* name = record.name.c_str();
  const mode_t bits = record.mode & kModeBits;
  int made = 0;
  switch (record.kind) {
    case RecordKind::kCreate:
      made = ::mknodat(folder, name, S_IFREG | bits, 0);
      break;
    case RecordKind::kMkdir:
      made = ::mkdirat(folder, name, bits);
      break;
    case RecordKind::kSymlink:
      made = ::symlinkat(record.data.c_str(), folder, name);
      break;
    default:
      made = ::mknodat(folder, name, record.mode, record.size);
  }
  if (made != 0) return errno;
  tree_.make(record.file, {record.folder, record.name});
  const auto named = named_in(folder, name);
  return named ? set_owner_and_mode(*named, record) : named.error();
}

int Replayer::link(const Record& record, int folder) {
  const auto old = named(record.file);
  if (!old) return old.error();
  if (::linkat(AT_FDCWD, path_of(*old).c_str(), folder, record.name.c_str(), AT_SYMLINK_FOLLOW) !=
      0) {
    return errno;
  }
  tree_.link(record.file, {record.folder, record.name});
  return 0;
}

int Replayer::remove(const Record& record, int folder) {
  const int flags = record.kind == RecordKind::kRmdir ? AT_REMOVEDIR : 0;
  const int removed = errno_of(::unlinkat(folder, record.name.c_str(), flags));
  if (removed == 0) tree_.unlink(record.file, {record.folder, record.name});
  return removed;
}

int Replayer::rename(const Record& record, int folder) {
  const Name from{record.folder, record.name};
  const Name to{record.to_folder, record.to_name};
  const auto target = named(record.to_folder);
  if (!target) return target.error();
  const auto replaced = tree_.at(to);
  const auto flags = static_cast<unsigned>(record.size);
  if (::renameat2(folder, from.name.c_str(), target->get(), to.name.c_str(), flags) != 0) {
    return errno;
  }
  // Two names of one file: rename does nothing then.
  if (replaced == record.file) return 0;
  if (replaced) tree_.unlink(*replaced, to);
  if (replaced && (flags & RENAME_EXCHANGE) != 0) tree_.link(*replaced, from);
  tree_.unlink(record.file, from);
  tree_.link(record.file, to);
  return 0;
}

timespec time_of(std::uint64_t nanoseconds) {
  constexpr std::int64_t kInSecond = 1'000'000'000;
  const auto since_1970 = static_cast<std::int64_t>(nanoseconds);
  // Before 1970, too, the part of a second counts forwards.
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
  const auto file = for_writing(named);
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

template <class Survives>
int Replayer::write_pages(const Record& record, Survives survives) {
  const auto found = still_named(record.file);
  if (!found) return found.error();
  if (!*found) return 0;
  const auto file = for_writing(*found);
  if (!file) return file.error();
  const std::uint64_t end = record.offset + record.data.size();
  for (std::uint64_t at = record.offset; at < end;) {
    const std::uint64_t next = std::min(end, (at / kPageBytes + 1) * kPageBytes);
    const std::string_view page =
        std::string_view(record.data).substr(at - record.offset, next - at);
    const int written = survives(at / kPageBytes) ? write_at(*file, page, at) : 0;
    if (written != 0) return written;
    at = next;
  }
  return 0;
}

int Replayer::know(const Record& record) {
  if (record.folder == 0) {
    tree_.set_root(record.file);
  } else {
    tree_.link(record.file, {record.folder, record.name});
  }
  return 0;
}

int Replayer::change_name(const Record& record) {
  const auto folder = named(record.folder);
  if (!folder) return folder.error();
  switch (record.kind) {
    case RecordKind::kLink:
      return link(record, folder->get());
    case RecordKind::kUnlink:
    case RecordKind::kRmdir:
      return remove(record, folder->get());
    case RecordKind::kRename:
      return rename(record, folder->get());
    default:
      return make(record, folder->get());
  }
}

int Replayer::apply(const Record& record) {
  if (record.kind == RecordKind::kKnown) return know(record);
  if (record.kind >= RecordKind::kFsync) return 0;
  if (record.kind <= RecordKind::kRename) return change_name(record);
  const auto file = still_named(record.file);
  if (!file) return file.error();
  return *file ? change(record, *file) : 0;
}

bool is_data(RecordKind kind) {
  return kind == RecordKind::kWrite || kind == RecordKind::kTruncate ||
         kind == RecordKind::kFallocate;
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
  if (!outline) return failure(outline.error());
  const auto survivors = survivors_of(*outline, {command.cut, command.unsynced, command.seed});
  auto reader = RecordingReader::open(command.record);
  if (!reader) return failure(reader.error());
  auto folder = Enclosure::open(command.folder);
  if (!folder) return failure(folder.error());
  Replayer replayer(std::move(*folder));
  Replayed replayed{.broke_off = reader->broke_off()};
  ::umask(0);
  while (replayed.records < outline->size()) {
    const auto record = reader->next();
    if (!record) return failure(record.error());
    const int failed = apply_or_lose(replayer, **record, survivors, command, replayed);
    if (failed == 0) continue;
    return failure(system_error(
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
  return {{"records", replayed.records},
          {"applied", replayed.applied},
          {"lost", replayed.lost},
          {"broke_off", replayed.broke_off}};
}

}  // namespace forebay::emufs
