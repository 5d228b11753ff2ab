// SPDX-License-Identifier: Apache-2.0
// Which records a power cut leaves. A sync of a folder makes the changes of its names safe, and
// nothing else does: ext4, XFS and NFS promise no more in common (docs/guides/emufs.md). A sync of
// a file makes its attributes and data safe. Of what is not safe, names of a folder and attributes
// of a file come back in order up to some record, and data in any combination.
#include <algorithm>
#include <span>
#include <unordered_map>

#include "tools/emufs/replay.hpp"

namespace forebay::emufs {

namespace {

bool is_sync(RecordKind kind) { return kind >= RecordKind::kFsync; }

/// A number that looks like chance and is the same for the same numbers (splitmix64).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111eb;
  return value ^ (value >> 31U);
}

/// The file or folder whose sync makes a change of names or attributes safe. A rename goes with the
/// folder that has the new name: it comes back whole or not at all.
std::uint64_t synced_with(const Record& record) {
  if (record.kind == RecordKind::kRename) return record.to_folder;
  return record.kind < RecordKind::kRename ? record.folder : record.file;
}

/// For each file and folder, how many records had been made at its last sync.
class Syncs {
 public:
  explicit Syncs(std::span<const Record> records) {
    for (std::size_t i = 0; i < records.size(); ++i)
      note(records[i], i + 1);
  }
  std::uint64_t of_data(std::uint64_t file) const { return last(data_, file); }
  std::uint64_t of_metadata(std::uint64_t file) const { return last(metadata_, file); }

 private:
  using Numbers = std::unordered_map<std::uint64_t, std::uint64_t>;

  void note(const Record& record, std::uint64_t number) {
    if (!is_sync(record.kind)) return;
    if (record.kind == RecordKind::kSyncAll) {
      all_ = number;
      return;
    }
    data_[record.file] = number;
    if (record.kind != RecordKind::kFdatasync) metadata_[record.file] = number;
  }
  std::uint64_t last(const Numbers& numbers, std::uint64_t file) const {
    const auto it = numbers.find(file);
    return it == numbers.end() ? all_ : std::max(all_, it->second);
  }

  std::uint64_t all_ = 0;
  Numbers data_;
  Numbers metadata_;
};

}  // namespace

bool page_survives(std::uint64_t seed, std::uint64_t record, std::uint64_t page) {
  return (mixed(mixed(seed + record) + page) & 1U) != 0;
}

Survivors survivors_of(const std::vector<Record>& records, const PowerCut& cut) {
  const std::size_t made = std::min<std::uint64_t>(cut.after, records.size());
  Survivors survivors(made, true);
  if (cut.unsynced == Unsynced::kAll) return survivors;
  const auto before = std::span(records).first(made);
  const Syncs syncs(before);
  for (std::size_t i = 0; i < made; ++i) {
    const Record& record = before[i];
    if (!is_change(record.kind)) continue;
    if (changes_data(record.kind)) {
      survivors[i] = i < syncs.of_data(record.file);
      continue;
    }
    const std::uint64_t owner = synced_with(record);
    std::uint64_t until = syncs.of_metadata(owner);
    if (cut.unsynced == Unsynced::kRandom)
      until += mixed(cut.seed + mixed(owner)) % (made - until + 1);
    survivors[i] = i < until;
  }
  return survivors;
}

}  // namespace forebay::emufs
