// SPDX-License-Identifier: Apache-2.0
// Which records a power cut leaves. A sync of a directory makes the changes of its names durable,
// and nothing else: ext4, XFS and NFS guarantee no more in common (docs/guides/emufs.md). A sync of
// a file makes its attributes and data durable. Of unsynced changes, names of a directory and
// attributes of a file survive in order up to some record, and data in any combination.
#include <algorithm>
#include <span>
#include <unordered_map>

#include "tools/emufs/replay.hpp"

namespace forebay::emufs {

namespace {

bool is_sync(RecordKind kind) { return kind >= RecordKind::kFsync; }

/// A pseudo-random number that depends only on its argument (splitmix64).
std::uint64_t mix_bits(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111eb;
  return value ^ (value >> 31U);
}

/// The file or directory whose sync makes a change of names or attributes durable. A rename belongs
/// to the directory with the new name: it survives whole or not at all.
std::uint64_t sync_target(const Record& record) {
  if (record.kind == RecordKind::kRename) return record.to_directory;
  return record.kind < RecordKind::kRename ? record.directory : record.file;
}

/// For each file and directory, how many records existed at its last sync.
class SyncPoints {
 public:
  explicit SyncPoints(std::span<const Record> records) {
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

bool is_page_kept(std::uint64_t seed, std::uint64_t record, std::uint64_t page) {
  return (mix_bits(mix_bits(seed + record) + page) & 1U) != 0;
}

SurvivingRecords surviving_records(const std::vector<Record>& records, const CrashPoint& cut) {
  const std::size_t made = std::min<std::uint64_t>(cut.after, records.size());
  SurvivingRecords surviving(made, true);
  if (cut.unsynced == Unsynced::kAll) return surviving;
  const auto before = std::span(records).first(made);
  const SyncPoints syncs(before);
  for (std::size_t i = 0; i < made; ++i) {
    const Record& record = before[i];
    if (!is_change(record.kind)) continue;
    if (is_data_change(record.kind)) {
      surviving[i] = i < syncs.of_data(record.file);
      continue;
    }
    const std::uint64_t owner = sync_target(record);
    std::uint64_t until = syncs.of_metadata(owner);
    if (cut.unsynced == Unsynced::kRandom)
      until += mix_bits(cut.seed + mix_bits(owner)) % (made - until + 1);
    surviving[i] = i < until;
  }
  return surviving;
}

}  // namespace forebay::emufs
