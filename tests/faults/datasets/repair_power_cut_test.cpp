// SPDX-License-Identifier: Apache-2.0
// Power cuts at any moment of a repair, recorded as in power_cut_test.cpp. What a step had before
// the damage, the next repair finds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/folder_entries.hpp"
#include "cargo.hpp"
#include "format/commits_file.hpp"
#include "how_often.hpp"
#include "power_cut.hpp"
#include "reading.hpp"
#include "storage/testing.hpp"
#include "tests/faults/streams/emulated_storage.hpp"
#include "tests/faults/streams/own_mounts.hpp"
#include "write/repair.hpp"
#include "writer_process.hpp"

namespace forebay::faults {
namespace {

constexpr std::uint64_t kSteps = 3;
constexpr std::uint64_t kCuts = 40;
constexpr std::uint64_t kSeeds = 3;  ///< one for each kind of damage
constexpr std::uint64_t kSeedsAll = 30;
const std::string kDamaged = "damaged";

class RepairPowerCuts : public testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override {
    if (const auto reason = reason_against_own_mounts(); !reason.empty()) GTEST_SKIP() << reason;
    const std::string record = folder_ / "recording";
    {
      const EmulatedStorage storage({.record = record});
      if (!storage.reason_against().empty()) GTEST_SKIP() << storage.reason_against();
      const std::string path = storage / "run.fb";
      WriterProcess writer({path, cargo_.seed(), GetParam(), kSteps, storage.path()});
      ASSERT_EQ(writer.complaint_at_end(), "");
      const auto written = StepReader::open(path);
      ASSERT_TRUE(written) << written.error().message();
      oldest_ = written->steps().front();
      damage(path);
      std::ofstream(storage / kDamaged).close();
      const auto repaired = write::repair(path);
      ASSERT_TRUE(repaired) << repaired.error().message();
      ASSERT_TRUE(is_whole(path, cargo_, kSteps));
    }
    auto recording = read_recording(record);
    ASSERT_TRUE(recording) << recording.error().message();
    recording_ = std::move(*recording);
    const auto is_mark = [](const emufs::Record& one) { return one.name == kDamaged; };
    damaged_at_ = static_cast<std::size_t>(std::ranges::find_if(recording_, is_mark) -
                                           recording_.begin() + 1);
    ASSERT_LT(damaged_at_, recording_.size());
  }

  /// Durably: the newest slot, both slots, or the whole file.
  void damage(const std::string& path) const {
    const std::string commits = path + "/commits";
    if (GetParam() % 3 == 0) {
      std::filesystem::remove(commits);
      ASSERT_TRUE(sync_entries(path));
      return;
    }
    const auto file = storage::must_open(commits, {.intent = storage::Intent::kWrite});
    const auto loaded = format::load_commits(*file);
    ASSERT_TRUE(loaded) << loaded.error().message();
    for (const std::uint64_t slot : {0U, 1U}) {
      if (GetParam() % 3 == 1 && slot != loaded->state.generation % 2) continue;
      const std::vector<std::byte> zeros(format::kPageBytes);
      ASSERT_TRUE(file->write_at(zeros, slot * format::kPageBytes));
    }
    ASSERT_TRUE(file->sync());
  }

  void cut_and_repair(const PowerCut& cut) const {
    const TemporaryFolder left;
    leave_after(cut, recording_, left.path());
    const std::string path = left / "run.fb";
    std::filesystem::remove(path + "/owner");  // this process, which the power cut would end
    const auto repaired = write::repair(path);
    ASSERT_TRUE(repaired) << repaired.error().message();
    // An older slot lists steps of which some files are gone, others have come back.
    EXPECT_TRUE(is_whole(path, cargo_, kSteps, Slots::kBothWhole, oldest_));
    EXPECT_TRUE(has_no_gap(path));
  }

  const TemporaryFolder folder_;
  const Cargo cargo_{GetParam()};
  Recording recording_;
  std::size_t damaged_at_ = 0;
  std::uint64_t oldest_ = 0;  ///< of the steps that were there before the damage
};

TEST_P(RepairPowerCuts, lose_no_step_that_was_durable) {
  std::mt19937_64 random(GetParam());
  for (std::uint64_t i = 0; i < kCuts && !HasFailure(); ++i) {
    const PowerCut cut{.after = damaged_at_ + random() % (recording_.size() - damaged_at_ + 1),
                       .seed = random(),
                       .sector_bytes = random() % 2 == 0 ? 4096U : 512U,
                       .names = random() % 2 == 0 ? Names::kByAnySync : Names::kByTheirFolders};
    SCOPED_TRACE(cut.text() + " of " + std::to_string(recording_.size()));
    cut_and_repair(cut);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds,
                         RepairPowerCuts,
                         testing::Range<std::uint64_t>(1, 1 + (tries_all() ? kSeedsAll : kSeeds)),
                         seed_name);

}  // namespace
}  // namespace forebay::faults
