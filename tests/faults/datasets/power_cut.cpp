// SPDX-License-Identifier: Apache-2.0
#include "power_cut.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <span>
#include <string_view>

#include <fcntl.h>

#include "tools/emufs/recording_reader.hpp"

namespace forebay::faults {

namespace {

namespace fs = std::filesystem;
using emufs::Record;
using emufs::RecordKind;

bool is_file_sync(const Record& record) {
  return record.kind == RecordKind::kFsync || record.kind == RecordKind::kFdatasync;
}
bool is_any_sync(const Record& record) {
  return is_file_sync(record) || record.kind == RecordKind::kFsyncDirectory ||
         record.kind == RecordKind::kSyncAll;
}
bool changes_names(const Record& record) {
  return record.kind >= RecordKind::kExisting && record.kind <= RecordKind::kRename;
}
/// The directory whose sync makes a change of names durable; for a rename, that of the new name.
std::uint64_t directory_of(const Record& record) {
  return record.kind == RecordKind::kRename ? record.to_directory : record.directory;
}

/// A file after the cut: bytes, followed by zeros up to its size, which need no memory.
struct FileState {
  std::string bytes;
  std::uint64_t size = 0;

  void truncate(std::uint64_t to) {
    size = to;
    if (bytes.size() > to) bytes.resize(to);
  }
  void extend(std::uint64_t to) { size = std::max(size, to); }
  void write(std::uint64_t at, std::string_view data) {
    extend(at + data.size());
    bytes.resize(std::max<std::size_t>(bytes.size(), at + data.size()));
    bytes.replace(at, data.size(), data);
  }
};

/// The disk after the cut, in memory.
class DiskModel {
 public:
  DiskModel(const PowerCut& cut, const Recording& recording)
      : cut_(cut), random_(cut.seed), recording_(std::span(recording).first(cut.after)) {}

  void replay() {
    find_syncs();
    for (std::size_t i = 0; i < recording_.size(); ++i) {
      const Record& record = recording_[i];
      if (changes_names(record) && are_names_kept(i)) change_names(record);
      if (emufs::is_data_change(record.kind)) change_data(i);
    }
  }

  void write_to(const std::string& directory) const { write_directory(root_, directory); }

 private:
  using Directory = std::map<std::string, std::uint64_t>;

  /// Finds the record up to which the names of each directory, or of all, remain.
  void find_syncs() {
    for (std::size_t i = 0; i < recording_.size(); ++i) {
      const Record& record = recording_[i];
      if (is_file_sync(record)) data_synced_[record.file] = i;
      if (record.kind == RecordKind::kSyncAll) all_synced_ = i + 1;
      if (is_any_sync(record)) names_until_ = i;
      if (record.kind == RecordKind::kFsyncDirectory) directory_until_[record.file] = i;
      if (changes_names(record)) directory_until_.try_emplace(directory_of(record), 0);
    }
    names_until_ = random_after(names_until_);
    for (auto& [directory, until] : directory_until_)
      until = random_after(std::max(until, all_synced_));
  }
  std::size_t random_after(std::size_t record) {
    return record + random_() % (recording_.size() - record + 1);
  }
  bool are_names_kept(std::size_t i) const {
    if (recording_[i].kind == RecordKind::kExisting) return true;
    if (cut_.name_durability == NameDurability::kAnySync) return i < names_until_;
    return i < directory_until_.at(directory_of(recording_[i]));
  }
  bool is_safe(std::size_t i) const {
    const auto synced = data_synced_.find(recording_[i].file);
    return i < all_synced_ || (synced != data_synced_.end() && i < synced->second);
  }
  bool random_bool() { return random_() % 2 == 0; }

  void change_names(const Record& record) {
    Directory& directory = directories_[record.directory];
    switch (record.kind) {
      case RecordKind::kExisting:
        if (record.directory == 0)
          root_ = record.file;
        else
          directory[record.name] = record.file;
        return;
      case RecordKind::kMkdir:
        directories_[record.file];
        [[fallthrough]];
      case RecordKind::kCreate:
      case RecordKind::kLink:
        directory[record.name] = record.file;
        return;
      case RecordKind::kUnlink:
      case RecordKind::kRmdir:
        directory.erase(record.name);
        return;
      case RecordKind::kRename:
        directory.erase(record.name);
        directories_[record.to_directory][record.to_name] = record.file;
        return;
      default:
        return;
    }
  }

  void change_data(std::size_t i) {
    const Record& record = recording_[i];
    const bool safe = is_safe(i);
    FileState& file = files_[record.file];
    if (record.kind == RecordKind::kWrite) return write(record, safe, file);
    if (!safe && random_bool()) return;
    if (record.kind == RecordKind::kTruncate) return file.truncate(record.size);
    const bool keeps_size = (record.mode & FALLOC_FL_KEEP_SIZE) != 0;
    if (!keeps_size) file.extend(record.offset + record.size);
  }

  void write(const Record& record, bool safe, FileState& file) {
    const std::uint64_t end = record.offset + record.data.size();
    // A length may remain without the bytes that caused it.
    if (safe || random_bool()) file.extend(end);
    for (std::uint64_t at = record.offset; at < end;) {
      const std::uint64_t next = std::min((at / cut_.sector_bytes + 1) * cut_.sector_bytes, end);
      if (safe || random_bool())
        file.write(at, std::string_view(record.data).substr(at - record.offset, next - at));
      at = next;
    }
  }

  void write_directory(std::uint64_t directory, const std::string& path) const {
    const auto found = directories_.find(directory);
    if (found == directories_.end()) return;
    for (const auto& [name, file] : found->second) {
      const std::string to = path + "/" + name;
      if (directories_.contains(file)) {
        fs::create_directory(to);
        write_directory(file, to);
        continue;
      }
      const auto known = files_.find(file);
      std::ofstream out(to, std::ios::binary);
      if (known == files_.end()) continue;
      out << known->second.bytes;
      out.close();
      fs::resize_file(to, known->second.size);
    }
  }

  const PowerCut cut_;
  std::mt19937_64 random_;
  const std::span<const Record> recording_;
  std::map<std::uint64_t, std::size_t> data_synced_;  ///< the last sync of each file
  std::size_t all_synced_ = 0;
  std::size_t names_until_ = 0;
  std::map<std::uint64_t, std::size_t> directory_until_;
  std::uint64_t root_ = 0;
  std::map<std::uint64_t, Directory> directories_;
  std::map<std::uint64_t, FileState> files_;
};

}  // namespace

std::string PowerCut::text() const {
  return "after record " + std::to_string(after) + ", seed " + std::to_string(seed) +
         ", sectors of " + std::to_string(sector_bytes) + ", names by " +
         (name_durability == NameDurability::kAnySync ? "any sync" : "their directories");
}

Result<Recording> read_recording(const std::string& path) {
  auto reader = emufs::RecordingReader::open(path);
  if (!reader) return failure(reader.error());
  Recording recording;
  while (true) {
    auto record = reader->next();
    if (!record) return failure(record.error());
    if (!*record) break;
    recording.push_back(std::move(**record));
  }
  if (!reader->is_incomplete() && !reader->is_truncated()) return recording;
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read the recording",
                  .path = path,
                  .cause = "changes are missing at its end"});
}

void apply_power_cut(const PowerCut& cut,
                     const Recording& recording,
                     const std::string& directory) {
  DiskModel model(cut, recording);
  model.replay();
  model.write_to(directory);
}

}  // namespace forebay::faults
