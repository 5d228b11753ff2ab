// SPDX-License-Identifier: Apache-2.0
// Power cuts at any moment while a dataset is written. A run is recorded once, with each write and
// sync. Then it is cut at many records, each time with other losses of unsynced changes.
// Acknowledged steps are complete, every visible step is complete, and writing can continue.
#include "power_cut.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "comm/in_process.hpp"
#include "comm/ranks_access.hpp"
#include "dataset_checks.hpp"
#include "test_contents.hpp"
#include "test_seeds.hpp"
#include "tests/faults/streams/emulated_storage.hpp"
#include "tests/faults/streams/private_mounts.hpp"
#include "tools/emufs/replay.hpp"
#include "write/repair.hpp"
#include "writer_process.hpp"

namespace forebay::faults {
namespace {

namespace fs = std::filesystem;
using emufs::Record;
using emufs::RecordKind;

constexpr std::uint64_t kCutsEach = 10;
constexpr std::uint64_t kRecordings = 5;      ///< 50 cuts
constexpr std::uint64_t kRecordingsAll = 50;  ///< 500

const std::string kMark = "durable-";

class PowerCuts : public testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override {
    if (const auto reason = private_mounts_unavailable_reason(); !reason.empty())
      GTEST_SKIP() << reason;
    {
      const EmulatedStorage storage({.record = path_});
      if (!storage.unavailable_reason().empty()) GTEST_SKIP() << storage.unavailable_reason();
      run_on(storage.path(), 5);
      run_on(storage.path(), 3);
    }
    auto recording = read_recording(path_);
    ASSERT_TRUE(recording) << recording.error().message();
    recording_ = std::move(*recording);
    find_acknowledged();
  }

  /// A whole run. A file is created for each acknowledged step at the time of its receipt.
  void run_on(const std::string& point, std::uint64_t steps) {
    const std::uint64_t config = random_();
    configs_ += random_config(config).text();
    WriterProcess writer({point + "/run.fb", contents_.seed(), config, steps, point});
    ASSERT_EQ(writer.error_at_exit(), "") << configs_;
  }

  void find_acknowledged() {
    for (std::size_t i = 0; i < recording_.size(); ++i)
      if (recording_[i].kind == RecordKind::kCreate && recording_[i].name.starts_with(kMark))
        acknowledged_at_[i + 1] = std::stoull(recording_[i].name.substr(kMark.size()));
    ASSERT_EQ(acknowledged_at_.size(), 8U);
  }

  /// The newest step that was acknowledged before the power cut; 0: none.
  std::uint64_t acknowledged_after(std::size_t records) const {
    const auto later = acknowledged_at_.upper_bound(records);
    return later == acknowledged_at_.begin() ? 0 : std::prev(later)->second;
  }

  /// Anywhere; every other one shortly after a receipt, when most of the following is not synced.
  PowerCut random_cut() {
    PowerCut cut{.after = 1 + random_() % recording_.size(), .seed = random_()};
    if (random_() % 2 == 0) {
      const auto at = std::next(acknowledged_at_.begin(),
                                static_cast<std::ptrdiff_t>(random_() % acknowledged_at_.size()));
      cut.after = std::min<std::size_t>(at->first + random_() % 12, recording_.size());
    }
    cut.sector_bytes = random_() % 2 == 0 ? 4096 : 512;
    cut.name_durability =
        random_() % 2 == 0 ? NameDurability::kAnySync : NameDurability::kDirectorySync;
    return cut;
  }

  void continue_writing(const std::string& path) {
    std::uint64_t step = 0;
    const Status done = comm::run_ranks({.count = 1}, [&](const auto& ranks) -> Status {
      Runtime runtime{comm::make_ranks(ranks)};
      auto dataset = runtime.create_dataset(path, {.existing = ExistingDataset::kAppend});
      // A slot may be torn for a step that is complete in its files: repair is needed, as a user
      // decides.
      if (!dataset && dataset.error().kind() == ErrorClass::kDamage) {
        const auto repaired = write::repair(path);
        if (!repaired) return failure(repaired.error());
        dataset = runtime.create_dataset(path, {.existing = ExistingDataset::kAppend});
      }
      if (!dataset) return failure(dataset.error());
      step = dataset->newest_step().value_or(0) + 1;
      const auto receipt = write_step(runtime, *dataset, contents_, step);
      return receipt ? dataset->close() : failure(receipt.error());
    });
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_TRUE(is_intact(path, contents_, step));
  }

  void cut_and_verify(const PowerCut& cut) {
    const TemporaryDirectory left;
    apply_power_cut(cut, recording_, left.path());
    verify_and_continue(left / "run.fb", acknowledged_after(cut.after));
  }

  /// By the rules of `forebay emufs replay`.
  void replay_and_verify(const PowerCut& cut, emufs::Unsynced unsynced) {
    const TemporaryDirectory left;
    const auto replayed = emufs::replay({.record = path_,
                                         .directory = left.path(),
                                         .cut = cut.after,
                                         .unsynced = unsynced,
                                         .seed = cut.seed});
    ASSERT_TRUE(replayed) << replayed.error().message();
    verify_and_continue(left / "run.fb", acknowledged_after(cut.after));
  }

  void verify_and_continue(const std::string& path, std::uint64_t promised) {
    const bool has_commits = fs::exists(path + "/commits");
    if (promised > 0 || (has_commits && !CatalogReader::open(path)->steps().empty())) {
      EXPECT_TRUE(is_intact(path, contents_, promised, CommitSlots::kOneMayBeTorn));
      EXPECT_TRUE(has_no_gap(path));
    }
    continue_writing(path);
  }

  /// A single random cut may lose no step, so the recording is cut kTimes after each receipt.
  bool has_losing_cut(const Recording& recording,
                      const std::map<std::size_t, std::uint64_t>& acknowledged) const {
    constexpr std::uint64_t kTimes = 10;
    for (std::uint64_t time = 0; time < kTimes; ++time) {
      for (const auto& [after, step] : acknowledged) {
        const TemporaryDirectory left;
        const PowerCut cut{.after = after,
                           .seed = GetParam() + step + 1000 * time,
                           .name_durability = NameDurability::kDirectorySync};
        apply_power_cut(cut, recording, left.path());
        if (!is_intact(left / "run.fb", contents_, step, CommitSlots::kOneMayBeTorn)) return true;
      }
    }
    return false;
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "recording";
  const TestContents contents_{GetParam()};
  std::mt19937_64 random_{GetParam()};
  std::string configs_;
  Recording recording_;
  std::map<std::size_t, std::uint64_t> acknowledged_at_;  ///< by the number of records at the time
                                                          ///< of the receipt
};

TEST_P(PowerCuts, lose_no_durable_step) {
  for (std::uint64_t i = 0; i < kCutsEach && !HasFailure(); ++i) {
    const PowerCut cut = random_cut();
    SCOPED_TRACE(cut.text() + " of " + std::to_string(recording_.size()) + "\n" + configs_);
    cut_and_verify(cut);
  }
}

TEST_P(PowerCuts, replayed_by_emufs_lose_no_durable_step) {
  for (std::uint64_t i = 0; i < kCutsEach && !HasFailure(); ++i) {
    const PowerCut cut = random_cut();
    const auto unsynced = i % 2 == 0 ? emufs::Unsynced::kRandom : emufs::Unsynced::kNone;
    SCOPED_TRACE(cut.text() + " of " + std::to_string(recording_.size()) + "\n" + configs_);
    replay_and_verify(cut, unsynced);
  }
}

/// Checks that the tests above can fail: a writer that omitted syncs would be detected.
TEST_P(PowerCuts, lose_steps_if_syncs_are_omitted) {
  for (const bool are_names : {false, true}) {
    Recording without;
    std::map<std::size_t, std::uint64_t> acknowledged;
    for (std::size_t i = 0; i < recording_.size(); ++i) {
      const Record& record = recording_[i];
      const bool is_of_names = record.kind == RecordKind::kFsyncDirectory;
      const bool is_of_data =
          record.kind == RecordKind::kFsync || record.kind == RecordKind::kFdatasync;
      if (are_names ? !is_of_names : !is_of_data) without.push_back(record);
      if (acknowledged_at_.contains(i + 1))
        acknowledged[without.size()] = acknowledged_at_.at(i + 1);
    }
    EXPECT_TRUE(has_losing_cut(without, acknowledged)) << (are_names ? "names" : "data");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Seeds,
    PowerCuts,
    testing::Range<std::uint64_t>(1, 1 + (is_exhaustive() ? kRecordingsAll : kRecordings)),
    seed_name);

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Two files of which one is synced. The model must lose what a disk may lose.
TEST(PowerCutModel, keeps_synced_data_and_loses_some_unsynced_data) {
  const Recording recording{
      {.kind = RecordKind::kExisting, .file = 1},
      {.kind = RecordKind::kCreate, .file = 2, .directory = 1, .name = "synced"},
      {.kind = RecordKind::kWrite, .file = 2, .data = std::string(8192, 's')},
      {.kind = RecordKind::kFdatasync, .file = 2},
      {.kind = RecordKind::kFsyncDirectory, .file = 1},
      {.kind = RecordKind::kWrite, .file = 2, .data = std::string(8192, 'n')},
      {.kind = RecordKind::kCreate, .file = 3, .directory = 1, .name = "new"}};
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const TemporaryDirectory left;
    apply_power_cut({.after = 7, .seed = seed, .sector_bytes = 4096}, recording, left.path());
    const std::string text = text_of(left / "synced");
    ASSERT_EQ(text.size(), 8192U);
    ++seen[std::string{text[0], text[4096]}];
    ++seen[fs::exists(left / "new") ? "name" : "no name"];
  }
  for (const char* const outcome : {"ss", "sn", "ns", "nn", "name", "no name"})
    EXPECT_GT(seen[outcome], 10) << outcome;
}

TEST(PowerCutModel, loses_names_in_unsynced_directories) {
  const Recording recording{{.kind = RecordKind::kExisting, .file = 1},
                            {.kind = RecordKind::kCreate, .file = 2, .directory = 1, .name = "a"},
                            {.kind = RecordKind::kFsync, .file = 2}};
  int kept = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const TemporaryDirectory left;
    const PowerCut cut{.after = 3, .seed = seed, .name_durability = NameDurability::kDirectorySync};
    apply_power_cut(cut, recording, left.path());
    kept += fs::exists(left / "a") ? 1 : 0;
  }
  EXPECT_GT(kept, 10);
  EXPECT_LT(kept, 90);
}

}  // namespace
}  // namespace forebay::faults
