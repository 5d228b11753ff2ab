// SPDX-License-Identifier: Apache-2.0
// Power cuts at any moment of a repair, recorded as in power_cut_test.cpp. The next repair recovers
// each step that was complete before the damage.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/directory_entries.hpp"
#include "dataset_checks.hpp"
#include "format/load_commits.hpp"
#include "power_cut.hpp"
#include "storage/testing.hpp"
#include "test_contents.hpp"
#include "test_seeds.hpp"
#include "tests/faults/streams/emulated_storage.hpp"
#include "tests/faults/streams/private_mounts.hpp"
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
    if (const auto reason = private_mounts_unavailable_reason(); !reason.empty())
      GTEST_SKIP() << reason;
    const std::string record = directory_ / "recording";
    {
      const EmulatedStorage storage({.record = record});
      if (!storage.unavailable_reason().empty()) GTEST_SKIP() << storage.unavailable_reason();
      const std::string path = storage / "run.fb";
      WriterProcess writer({path, contents_.seed(), GetParam(), kSteps, storage.path()});
      ASSERT_EQ(writer.error_at_exit(), "");
      const auto written = CatalogReader::open(path);
      ASSERT_TRUE(written) << written.error().message();
      oldest_ = written->steps().front();
      damage(path);
      std::ofstream(storage / kDamaged).close();
      const auto repaired = write::repair(path);
      ASSERT_TRUE(repaired) << repaired.error().message();
      ASSERT_TRUE(is_intact(path, contents_, kSteps));
    }
    auto recording = read_recording(record);
    ASSERT_TRUE(recording) << recording.error().message();
    recording_ = std::move(*recording);
    const auto is_mark = [](const emufs::Record& one) { return one.name == kDamaged; };
    damaged_at_ = static_cast<std::size_t>(std::ranges::find_if(recording_, is_mark) -
                                           recording_.begin() + 1);
    ASSERT_LT(damaged_at_, recording_.size());
  }

  /// Damages durably: the newest slot, both slots, or the whole file.
  void damage(const std::string& path) const {
    const std::string commits = path + "/commits";
    if (GetParam() % 3 == 0) {
      std::filesystem::remove(commits);
      ASSERT_TRUE(sync_directory(path));
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
    const TemporaryDirectory left;
    apply_power_cut(cut, recording_, left.path());
    const std::string path = left / "run.fb";
    std::filesystem::remove(path + "/owner");  // this process, which the power cut would end
    const auto repaired = write::repair(path);
    ASSERT_TRUE(repaired) << repaired.error().message();
    // An older slot may list steps of which some files are missing and others remain.
    EXPECT_TRUE(is_intact(path, contents_, kSteps, CommitSlots::kBothIntact, oldest_));
    EXPECT_TRUE(has_no_gap(path));
  }

  const TemporaryDirectory directory_;
  const TestContents contents_{GetParam()};
  Recording recording_;
  std::size_t damaged_at_ = 0;
  std::uint64_t oldest_ = 0;  ///< of the steps before the damage
};

TEST_P(RepairPowerCuts, lose_no_durable_step) {
  std::mt19937_64 random(GetParam());
  for (std::uint64_t i = 0; i < kCuts && !HasFailure(); ++i) {
    const PowerCut cut{.after = damaged_at_ + random() % (recording_.size() - damaged_at_ + 1),
                       .seed = random(),
                       .sector_bytes = random() % 2 == 0 ? 4096U : 512U,
                       .name_durability = random() % 2 == 0 ? NameDurability::kAnySync
                                                            : NameDurability::kDirectorySync};
    SCOPED_TRACE(cut.text() + " of " + std::to_string(recording_.size()));
    cut_and_repair(cut);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds,
                         RepairPowerCuts,
                         testing::Range<std::uint64_t>(1,
                                                       1 + (is_exhaustive() ? kSeedsAll : kSeeds)),
                         seed_name);

}  // namespace
}  // namespace forebay::faults
