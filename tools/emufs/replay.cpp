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
#include "tools/emufs/enclosure.hpp"
#include "tools/emufs/recording_files.hpp"

namespace forebay::emufs {

namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr mode_t kModeBits = 07777;
/// Of folders in each other. Paths of the kernel have fewer names.
constexpr std::size_t kDepthMax = 4096;

/// Of the folder for files that have no name, beyond all numbers of recordings.
constexpr std::uint64_t kNameless = UINT64_MAX;

struct Name {
  std::uint64_t folder = 0;
  std::string name;
  friend auto operator<=>(const Name&, const Name&) = default;
};

/// Where each file of the recording lies in the folder now.
class Tree {
 public:
  using Names = std::vector<std::string_view>;

  void set_root(std::uint64_t file) { root_file_ = file; }
  void link(std::uint64_t file, const Name& name) {
    names_[file].push_back(name);
    files_[name] = file;
  }
  void unlink(std::uint64_t file, const Name& name) {
    std::erase(names_[file], name);
    files_.erase(name);
  }
  std::optional<std::uint64_t> at(const Name& name) const {
    const auto it = files_.find(name);
    return it == files_.end() ? std::nullopt : std::optional(it->second);
  }
  std::size_t count_of(std::uint64_t file) const {
    const auto it = names_.find(file);
    return it == names_.end() ? 0 : it->second.size();
  }
  /// One of its names. It has some.
  const Name& name_of(std::uint64_t file) const { return names_.at(file).front(); }
  /// The names that lead to a file from the folder downwards, valid until the tree changes. ENOENT
  /// if none do, ELOOP if a recording says that folders lie in each other.
  Outcome<Names> names_to(std::uint64_t file) const {
    Names names;
    while (file != root_file_) {
      if (names.size() == kDepthMax) return fails(ELOOP);
      if (count_of(file) == 0) return fails(ENOENT);
      names.push_back(name_of(file).name);
      file = name_of(file).folder;
    }
    std::ranges::reverse(names);
    return names;
  }

 private:
  std::uint64_t root_file_ = 0;
  std::unordered_map<std::uint64_t, std::vector<Name>> names_;
  std::map<Name, std::uint64_t> files_;
};

int errno_of(int result) { return result == 0 ? 0 : errno; }

/// A folder below the one that is replayed in, removed at the end with what is in it. Files are
/// there that have no name, as a later record may give them one.
class NamelessFiles {
 public:
  static Result<NamelessFiles> make_in(const Descriptor& above, const std::string& path) {
    std::string folder = path_of(above) + "/.forebay-emufs-XXXXXX";
    if (::mkdtemp(folder.data()) != nullptr) return NamelessFiles(std::move(folder));
    return failure(system_error({.operation = "make a folder in", .path = path}, errno));
  }
  ~NamelessFiles() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  NamelessFiles(NamelessFiles&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  NamelessFiles(const NamelessFiles&) = delete;
  NamelessFiles& operator=(const NamelessFiles&) = delete;
  NamelessFiles& operator=(NamelessFiles&&) = delete;

  std::string name() const { return std::filesystem::path(folder_).filename(); }

 private:
  explicit NamelessFiles(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

/// Makes changes once more. Each call gives an errno, or 0. Names and files come back apart: a file
/// that has lost its name, or has none yet, is kept, so that a later rename can bring it back.
class Replayer {
 public:
  /// `nameless` names a folder in `folder`.
  Replayer(Enclosure folder, std::string nameless)
      : folder_(std::move(folder)), nameless_(std::move(nameless)) {}

  int apply(const Record& record);
  /// The change itself is lost; the file that it made may still get a name.
  int lose(const Record& record);
  /// Of a write, the pages for which `survives(page)` is true.
  template <class Survives>
  int write_pages(const Record& record, Survives survives);

 private:
  int know(const Record& record);
  int change_name(const Record& record);
  int make(const Record& record, const Name& name);
  int remove(const Record& record);
  int rename(const Record& record);
  int add_name(std::uint64_t file, const Name& name);
  int take_name(std::uint64_t file, const Name& name);
  int clear(const Name& name);
  int move(std::uint64_t file, const Name& from, const Name& to);
  Name nameless() { return {kNameless, std::to_string(++nameless_count_)}; }
  Outcome<Descriptor> named(std::uint64_t file) const;
  /// Empty if the recording has not made it.
  Outcome<Descriptor> if_made(std::uint64_t file) const;

  Enclosure folder_;
  std::string nameless_;
  std::uint64_t nameless_count_ = 0;
  Tree tree_;
};

Outcome<Descriptor> Replayer::named(std::uint64_t file) const {
  const auto names = tree_.names_to(file);
  if (!names) return fails(names.error());
  return folder_.at(*names);
}

Outcome<Descriptor> Replayer::if_made(std::uint64_t file) const {
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

int make_file(const Record& record, int folder, const char* name) {
  const mode_t bits = record.mode & kModeBits;
  switch (record.kind) {
    case RecordKind::kCreate:
      return errno_of(::mknodat(folder, name, S_IFREG | bits, 0));
    case RecordKind::kMkdir:
      return errno_of(::mkdirat(folder, name, bits));
    case RecordKind::kSymlink:
      return errno_of(::symlinkat(record.data.c_str(), folder, name));
    default:
      return errno_of(::mknodat(folder, name, record.mode, record.size));
  }
}

int Replayer::make(const Record& record, const Name& name) {
  const auto folder = named(name.folder);
  if (!folder) return folder.error();
  if (const int failed = clear(name); failed != 0) return failed;
  const int made = make_file(record, folder->get(), name.name.c_str());
  if (made != 0) return made;
  tree_.link(record.file, name);
  const auto file = named_in(folder->get(), name.name.c_str());
  return file ? set_owner_and_mode(*file, record) : file.error();
}

int Replayer::move(std::uint64_t file, const Name& from, const Name& to) {
  const auto source = named(from.folder);
  if (!source) return source.error();
  const auto target = named(to.folder);
  if (!target) return target.error();
  if (::renameat(source->get(), from.name.c_str(), target->get(), to.name.c_str()) != 0) {
    // Without changes that are lost, a folder may be meant to lie in itself.
    return errno == EINVAL ? 0 : errno;
  }
  tree_.unlink(file, from);
  tree_.link(file, to);
  return 0;
}

bool is_folder(const Descriptor& named) {
  struct stat is{};
  return ::fstat(named.get(), &is) == 0 && S_ISDIR(is.st_mode);
}

/// One more name, or the first one; the only one of a folder.
int Replayer::add_name(std::uint64_t file, const Name& name) {
  if (tree_.count_of(file) == 0) return ENOENT;
  const auto found = named(file);
  if (!found) return found.error();
  const Name old = tree_.name_of(file);
  if (old.folder == kNameless || is_folder(*found)) return move(file, old, name);
  const auto folder = named(name.folder);
  if (!folder) return folder.error();
  if (::linkat(AT_FDCWD, path_of(*found).c_str(), folder->get(), name.name.c_str(),
               AT_SYMLINK_FOLLOW) != 0) {
    return errno;
  }
  tree_.link(file, name);
  return 0;
}

int Replayer::take_name(std::uint64_t file, const Name& name) {
  if (tree_.count_of(file) == 1) return move(file, name, nameless());
  const auto folder = named(name.folder);
  if (!folder) return folder.error();
  const int removed = errno_of(::unlinkat(folder->get(), name.name.c_str(), 0));
  if (removed == 0) tree_.unlink(file, name);
  return removed;
}

int Replayer::clear(const Name& name) {
  const auto file = tree_.at(name);
  return file ? take_name(*file, name) : 0;
}

int Replayer::remove(const Record& record) {
  const Name name{record.folder, record.name};
  if (tree_.at(name)) return clear(name);
  // The name is lost. What has none in our table has none in the folder.
  const auto folder = named(record.folder);
  if (!folder) return folder.error();
  return is_folder(*folder) ? 0 : ENOTDIR;
}

int Replayer::rename(const Record& record) {
  const Name from{record.folder, record.name};
  const Name to{record.to_folder, record.to_name};
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
  const auto found = if_made(record.file);
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
    tree_.link(kNameless, {record.file, nameless_});
  } else {
    tree_.link(record.file, {record.folder, record.name});
  }
  return 0;
}

int Replayer::change_name(const Record& record) {
  const Name name{record.folder, record.name};
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
  if (record.kind == RecordKind::kKnown) return know(record);
  if (record.kind >= RecordKind::kFsync) return 0;
  if (record.kind <= RecordKind::kRename) return change_name(record);
  const auto file = if_made(record.file);
  if (!file) return file.error();
  return *file ? change(record, *file) : 0;
}

int Replayer::lose(const Record& record) {
  return makes_file(record.kind) ? make(record, nameless()) : 0;
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
  if (survivors[number - 1]) {
    if (is_change(record.kind)) ++replayed.applied;
    return replayer.apply(record);
  }
  ++replayed.lost;
  if (!changes_data(record.kind)) return replayer.lose(record);
  if (command.unsynced != Unsynced::kRandom) return 0;
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
  const auto root = folder->at({});
  if (!root)
    return failure(system_error({.operation = "open", .path = command.folder}, root.error()));
  const auto nameless = NamelessFiles::make_in(*root, command.folder);
  if (!nameless) return failure(nameless.error());
  Replayer replayer(std::move(*folder), nameless->name());
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
