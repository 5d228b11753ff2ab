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

#include "tools/emufs/recording_files.hpp"

namespace forebay::faults {

namespace {

namespace fs = std::filesystem;
using emufs::Record;
using emufs::RecordKind;

bool is_file_sync(const Record& record) {
  return record.kind == RecordKind::kFsync || record.kind == RecordKind::kFdatasync;
}
bool is_any_sync(const Record& record) {
  return is_file_sync(record) || record.kind == RecordKind::kFsyncFolder ||
         record.kind == RecordKind::kSyncAll;
}
bool changes_names(const Record& record) {
  return record.kind >= RecordKind::kKnown && record.kind <= RecordKind::kRename;
}
/// The folder whose sync makes a change of names safe: of a rename, the one with the new name.
std::uint64_t folder_of(const Record& record) {
  return record.kind == RecordKind::kRename ? record.to_folder : record.folder;
}

/// A file after the cut: bytes, and zeros from there to its size, which take no memory.
struct FileAfter {
  std::string bytes;
  std::uint64_t size = 0;

  void cut_or_extend(std::uint64_t to) {
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
class Disk {
 public:
  Disk(const PowerCut& cut, const Recording& recording)
      : cut_(cut), random_(cut.seed), recording_(std::span(recording).first(cut.after)) {}

  void replay() {
    find_syncs();
    for (std::size_t i = 0; i < recording_.size(); ++i) {
      const Record& record = recording_[i];
      if (changes_names(record) && names_survive(i)) change_names(record);
      if (emufs::changes_data(record.kind)) change_data(i);
    }
  }

  void write_to(const std::string& folder) const { write_folder(root_, folder); }

 private:
  using Folder = std::map<std::string, std::uint64_t>;

  /// Up to which record the names of each folder, or of all, come back.
  void find_syncs() {
    for (std::size_t i = 0; i < recording_.size(); ++i) {
      const Record& record = recording_[i];
      if (is_file_sync(record)) data_synced_[record.file] = i;
      if (record.kind == RecordKind::kSyncAll) all_synced_ = i + 1;
      if (is_any_sync(record)) names_until_ = i;
      if (record.kind == RecordKind::kFsyncFolder) folder_until_[record.file] = i;
      if (changes_names(record)) folder_until_.try_emplace(folder_of(record), 0);
    }
    names_until_ = some_later_than(names_until_);
    for (auto& [folder, until] : folder_until_)
      until = some_later_than(std::max(until, all_synced_));
  }
  std::size_t some_later_than(std::size_t record) {
    return record + random_() % (recording_.size() - record + 1);
  }
  bool names_survive(std::size_t i) const {
    if (recording_[i].kind == RecordKind::kKnown) return true;
    if (cut_.names == Names::kByAnySync) return i < names_until_;
    return i < folder_until_.at(folder_of(recording_[i]));
  }
  bool is_safe(std::size_t i) const {
    const auto synced = data_synced_.find(recording_[i].file);
    return i < all_synced_ || (synced != data_synced_.end() && i < synced->second);
  }
  bool chance() { return random_() % 2 == 0; }

  void change_names(const Record& record) {
    Folder& folder = folders_[record.folder];
    switch (record.kind) {
      case RecordKind::kKnown:
        if (record.folder == 0)
          root_ = record.file;
        else
          folder[record.name] = record.file;
        return;
      case RecordKind::kMkdir:
        folders_[record.file];
        [[fallthrough]];
      case RecordKind::kCreate:
      case RecordKind::kLink:
        folder[record.name] = record.file;
        return;
      case RecordKind::kUnlink:
      case RecordKind::kRmdir:
        folder.erase(record.name);
        return;
      case RecordKind::kRename:
        folder.erase(record.name);
        folders_[record.to_folder][record.to_name] = record.file;
        return;
      default:
        return;
    }
  }

  void change_data(std::size_t i) {
    const Record& record = recording_[i];
    const bool safe = is_safe(i);
    FileAfter& file = files_[record.file];
    if (record.kind == RecordKind::kWrite) return write(record, safe, file);
    if (!safe && chance()) return;
    if (record.kind == RecordKind::kTruncate) return file.cut_or_extend(record.size);
    const bool keeps_size = (record.mode & FALLOC_FL_KEEP_SIZE) != 0;
    if (!keeps_size) file.extend(record.offset + record.size);
  }

  void write(const Record& record, bool safe, FileAfter& file) {
    const std::uint64_t end = record.offset + record.data.size();
    // A length may come back without the bytes that made it.
    if (safe || chance()) file.extend(end);
    for (std::uint64_t at = record.offset; at < end;) {
      const std::uint64_t next = std::min((at / cut_.sector_bytes + 1) * cut_.sector_bytes, end);
      if (safe || chance())
        file.write(at, std::string_view(record.data).substr(at - record.offset, next - at));
      at = next;
    }
  }

  void write_folder(std::uint64_t folder, const std::string& path) const {
    const auto found = folders_.find(folder);
    if (found == folders_.end()) return;
    for (const auto& [name, file] : found->second) {
      const std::string to = path + "/" + name;
      if (folders_.contains(file)) {
        fs::create_directory(to);
        write_folder(file, to);
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
  std::map<std::uint64_t, std::size_t> folder_until_;
  std::uint64_t root_ = 0;
  std::map<std::uint64_t, Folder> folders_;
  std::map<std::uint64_t, FileAfter> files_;
};

}  // namespace

std::string PowerCut::text() const {
  return "after record " + std::to_string(after) + ", seed " + std::to_string(seed) +
         ", sectors of " + std::to_string(sector_bytes) + ", names by " +
         (names == Names::kByAnySync ? "any sync" : "their folders");
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
  if (!reader->broke_off() && !reader->ends_early()) return recording;
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read the recording",
                  .path = path,
                  .cause = "changes are missing at its end"});
}

void leave_after(const PowerCut& cut, const Recording& recording, const std::string& folder) {
  Disk disk(cut, recording);
  disk.replay();
  disk.write_to(folder);
}

}  // namespace forebay::faults
