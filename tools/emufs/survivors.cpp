// SPDX-License-Identifier: Apache-2.0
// Which records a power cut leaves. Names and attributes go through a journal: any sync makes all
// of them safe that came before it, and later ones come back in order or not at all. Data of a file
// is safe from its own sync on, and otherwise comes back in any combination.
#include <unordered_map>

#include "tools/emufs/replay.hpp"

namespace forebay::emufs {

namespace {

bool holds_data(RecordKind kind) {
  return kind == RecordKind::kWrite || kind == RecordKind::kTruncate ||
         kind == RecordKind::kFallocate;
}

bool is_sync(RecordKind kind) { return kind >= RecordKind::kFsync; }

/// A number that looks like chance and is the same for the same numbers (splitmix64).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111eb;
  return value ^ (value >> 31U);
}

/// For each file, how many records had been made at its last sync.
struct Syncs {
  std::uint64_t any = 0;
  std::uint64_t of_all = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> of_file;

  void see(const Record& record, std::uint64_t number) {
    if (!is_sync(record.kind)) return;
    any = number;
    if (record.kind == RecordKind::kSyncAll) of_all = number;
    if (record.kind != RecordKind::kFsyncFolder) of_file[record.file] = number;
  }
  bool covers(const Record& record, std::uint64_t number) const {
    const auto it = of_file.find(record.file);
    return number <= of_all || (it != of_file.end() && number <= it->second);
  }
};

}  // namespace

bool page_survives(std::uint64_t seed, std::uint64_t record, std::uint64_t page) {
  return (mixed(mixed(seed + record) + page) & 1U) != 0;
}

Survivors survivors_of(const std::vector<Record>& records, const PowerCut& cut) {
  const std::uint64_t made = std::min<std::uint64_t>(cut.after, records.size());
  Syncs syncs;
  for (std::uint64_t i = 0; i < made; ++i)
    syncs.see(records[i], i + 1);
  Survivors survivors{.names_until = made, .data = std::vector<bool>(made, true)};
  if (cut.unsynced == Unsynced::kAll) return survivors;
  survivors.names_until = syncs.any;
  if (cut.unsynced == Unsynced::kRandom) {
    survivors.names_until += mixed(cut.seed) % (made - syncs.any + 1);
  }
  for (std::uint64_t i = 0; i < made; ++i) {
    if (holds_data(records[i].kind)) survivors.data[i] = syncs.covers(records[i], i + 1);
  }
  return survivors;
}

}  // namespace forebay::emufs
