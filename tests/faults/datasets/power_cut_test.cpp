// SPDX-License-Identifier: Apache-2.0
// Power cuts at any moment of writing a dataset: a run is recorded once, write by write and sync by
// sync, and then cut off in many places, each time with other losses of what was not synced. What
// was promised by then is there and whole, whatever seems to be there is whole, and writing goes on
// from it.
#include "power_cut.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "cargo.hpp"
#include "comm/in_process.hpp"
#include "how_often.hpp"
#include "reading.hpp"
#include "tests/faults/streams/emulated_storage.hpp"
#include "tests/faults/streams/own_mounts.hpp"
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
    if (const auto reason = reason_against_own_mounts(); !reason.empty()) GTEST_SKIP() << reason;
    {
      const EmulatedStorage storage({.record = path_});
      if (!storage.reason_against().empty()) GTEST_SKIP() << storage.reason_against();
      run_on(storage.path(), 5);
      run_on(storage.path(), 3);
    }
    auto recording = read_recording(path_);
    ASSERT_TRUE(recording) << recording.error().message();
    recording_ = std::move(*recording);
    note_promises();
  }

  /// A whole run, and its promises as files that are made when they were given.
  void run_on(const std::string& point, std::uint64_t steps) {
    const std::uint64_t way = random_();
    ways_ += way_of(way).text();
    WriterProcess writer({point + "/run.fb", cargo_.seed(), way, steps, point});
    ASSERT_EQ(writer.complaint_at_end(), "") << ways_;
  }

  void note_promises() {
    for (std::size_t i = 0; i < recording_.size(); ++i)
      if (recording_[i].kind == RecordKind::kCreate && recording_[i].name.starts_with(kMark))
        promises_[i + 1] = std::stoull(recording_[i].name.substr(kMark.size()));
    ASSERT_EQ(promises_.size(), 8U);
  }

  /// The newest step that somebody was told to be durable before the power went; 0: none.
  std::uint64_t promised_after(std::size_t records) const {
    const auto later = promises_.upper_bound(records);
    return later == promises_.begin() ? 0 : std::prev(later)->second;
  }

  /// Anywhere; every other one shortly after a promise, when most of what follows is not synced.
  PowerCut random_cut() {
    PowerCut cut{.after = 1 + random_() % recording_.size(), .seed = random_()};
    if (random_() % 2 == 0) {
      const auto at =
          std::next(promises_.begin(), static_cast<std::ptrdiff_t>(random_() % promises_.size()));
      cut.after = std::min<std::size_t>(at->first + random_() % 12, recording_.size());
    }
    cut.sector_bytes = random_() % 2 == 0 ? 4096 : 512;
    cut.names = random_() % 2 == 0 ? Names::kByAnySync : Names::kByTheirFolders;
    return cut;
  }

  void go_on_with(const std::string& path) {
    std::uint64_t step = 0;
    const Status done = comm::run_ranks({.count = 1}, [&](const auto& ranks) -> Status {
      Runtime runtime{Ranks(ranks)};
      auto dataset = runtime.dataset(path);
      // A slot may be torn of a step that is complete in its files: the user decides.
      if (!dataset && dataset.error().kind() == ErrorClass::kDamage) {
        const auto repaired = write::repair(path);
        if (!repaired) return failure(repaired.error());
        dataset = runtime.dataset(path);
      }
      if (!dataset) return failure(dataset.error());
      step = dataset->newest_step().value_or(0) + 1;
      const auto receipt = write_step(runtime, *dataset, cargo_, step);
      return receipt ? dataset->close() : failure(receipt.error());
    });
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_TRUE(is_whole(path, cargo_, step));
  }

  void cut_and_look(const PowerCut& cut) {
    const TemporaryFolder left;
    leave_after(cut, recording_, left.path());
    look_at(left / "run.fb", promised_after(cut.after));
  }

  /// By the rules of `forebay emufs replay`.
  void replay_and_look(const PowerCut& cut, emufs::Unsynced unsynced) {
    const TemporaryFolder left;
    const auto replayed = emufs::replay({.record = path_,
                                         .folder = left.path(),
                                         .cut = cut.after,
                                         .unsynced = unsynced,
                                         .seed = cut.seed});
    ASSERT_TRUE(replayed) << replayed.error().message();
    look_at(left / "run.fb", promised_after(cut.after));
  }

  void look_at(const std::string& path, std::uint64_t promised) {
    const bool is_there = fs::exists(path + "/commits");
    if (promised > 0 || (is_there && !StepReader::open(path)->steps().empty())) {
      EXPECT_TRUE(is_whole(path, cargo_, promised, Slots::kOneMayBeTorn));
      EXPECT_TRUE(has_no_gap(path));
    }
    go_on_with(path);
  }

  /// Chance may spare all steps of one recording: each promise is cut after so often.
  bool some_cut_loses_a_step(const Recording& recording,
                             const std::map<std::size_t, std::uint64_t>& promises) const {
    constexpr std::uint64_t kTimes = 10;
    for (std::uint64_t time = 0; time < kTimes; ++time) {
      for (const auto& [after, step] : promises) {
        const TemporaryFolder left;
        const PowerCut cut{.after = after,
                           .seed = GetParam() + step + 1000 * time,
                           .names = Names::kByTheirFolders};
        leave_after(cut, recording, left.path());
        if (!is_whole(left / "run.fb", cargo_, step, Slots::kOneMayBeTorn)) return true;
      }
    }
    return false;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "recording";
  const Cargo cargo_{GetParam()};
  std::mt19937_64 random_{GetParam()};
  std::string ways_;
  Recording recording_;
  std::map<std::size_t, std::uint64_t> promises_;  ///< by how many records there were then
};

TEST_P(PowerCuts, take_nothing_that_was_durable) {
  for (std::uint64_t i = 0; i < kCutsEach && !HasFailure(); ++i) {
    const PowerCut cut = random_cut();
    SCOPED_TRACE(cut.text() + " of " + std::to_string(recording_.size()) + "\n" + ways_);
    cut_and_look(cut);
  }
}

TEST_P(PowerCuts, replayed_by_emufs_take_nothing_that_was_durable) {
  for (std::uint64_t i = 0; i < kCutsEach && !HasFailure(); ++i) {
    const PowerCut cut = random_cut();
    const auto unsynced = i % 2 == 0 ? emufs::Unsynced::kRandom : emufs::Unsynced::kNone;
    SCOPED_TRACE(cut.text() + " of " + std::to_string(recording_.size()) + "\n" + ways_);
    replay_and_look(cut, unsynced);
  }
}

/// Whether what is asked above could fail at all: a writer that left out syncs would be found out.
TEST_P(PowerCuts, would_take_steps_whose_syncs_were_left_out) {
  for (const bool are_names : {false, true}) {
    Recording without;
    std::map<std::size_t, std::uint64_t> promises;
    for (std::size_t i = 0; i < recording_.size(); ++i) {
      const Record& record = recording_[i];
      const bool is_of_names = record.kind == RecordKind::kFsyncFolder;
      const bool is_of_data =
          record.kind == RecordKind::kFsync || record.kind == RecordKind::kFdatasync;
      if (are_names ? !is_of_names : !is_of_data) without.push_back(record);
      if (promises_.contains(i + 1)) promises[without.size()] = promises_.at(i + 1);
    }
    EXPECT_TRUE(some_cut_loses_a_step(without, promises)) << (are_names ? "names" : "data");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Seeds,
    PowerCuts,
    testing::Range<std::uint64_t>(1, 1 + (tries_all() ? kRecordingsAll : kRecordings)),
    seed_name);

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Two files of which one is synced; the model itself must lose what it may.
TEST(PowerCutModel, keeps_what_was_synced_and_loses_some_of_the_rest) {
  const Recording recording{{.kind = RecordKind::kKnown, .file = 1},
                            {.kind = RecordKind::kCreate, .file = 2, .folder = 1, .name = "synced"},
                            {.kind = RecordKind::kWrite, .file = 2, .data = std::string(8192, 's')},
                            {.kind = RecordKind::kFdatasync, .file = 2},
                            {.kind = RecordKind::kFsyncFolder, .file = 1},
                            {.kind = RecordKind::kWrite, .file = 2, .data = std::string(8192, 'n')},
                            {.kind = RecordKind::kCreate, .file = 3, .folder = 1, .name = "new"}};
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const TemporaryFolder left;
    leave_after({.after = 7, .seed = seed, .sector_bytes = 4096}, recording, left.path());
    const std::string text = text_of(left / "synced");
    ASSERT_EQ(text.size(), 8192U);
    ++seen[std::string{text[0], text[4096]}];
    ++seen[fs::exists(left / "new") ? "name" : "no name"];
  }
  for (const char* const outcome : {"ss", "sn", "ns", "nn", "name", "no name"})
    EXPECT_GT(seen[outcome], 10) << outcome;
}

TEST(PowerCutModel, loses_names_of_folders_that_were_not_synced) {
  const Recording recording{{.kind = RecordKind::kKnown, .file = 1},
                            {.kind = RecordKind::kCreate, .file = 2, .folder = 1, .name = "a"},
                            {.kind = RecordKind::kFsync, .file = 2}};
  int kept = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const TemporaryFolder left;
    const PowerCut cut{.after = 3, .seed = seed, .names = Names::kByTheirFolders};
    leave_after(cut, recording, left.path());
    kept += fs::exists(left / "a") ? 1 : 0;
  }
  EXPECT_GT(kept, 10);
  EXPECT_LT(kept, 90);
}

}  // namespace
}  // namespace forebay::faults
