// SPDX-License-Identifier: Apache-2.0
// Random operations on datasets: writers that finish, are killed or meet another holder, copies,
// flipped bits of slots, and repair. After each operation every acknowledged step that no plan has
// dropped exists and is complete.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "dataset_checks.hpp"
#include "format/records.hpp"
#include "format/verify.hpp"
#include "test_contents.hpp"
#include "test_seeds.hpp"
#include "write/repair.hpp"
#include "writer_process.hpp"

namespace forebay::faults {
namespace {

constexpr std::uint64_t kOperations = 10;
constexpr std::uint64_t kHistories = 6;
constexpr std::uint64_t kHistoriesAll = 300;
constexpr auto kLongestStart = std::chrono::seconds(60);
constexpr std::uint64_t kUntilKilled = 1'000'000;

class RandomHistory : public testing::TestWithParam<std::uint64_t> {
 protected:
  using Operation = void (RandomHistory::*)();

  void run_one() {
    static constexpr std::array<std::pair<const char*, Operation>, 7> kOperationTable{
        {{"write", &RandomHistory::write},
         {"kill", &RandomHistory::kill},
         {"kill", &RandomHistory::kill},
         {"contend", &RandomHistory::contend},
         {"copy", &RandomHistory::copy},
         {"damage", &RandomHistory::damage},
         {"repair", &RandomHistory::repair_intact_dataset}}};
    const auto& [name, operation] = kOperationTable.at(choice(kOperationTable.size()));
    history_ << "; " << name;
    (this->*operation)();
    expect_acknowledged();
  }
  std::string history() const { return history_.str(); }

 private:
  std::uint64_t choice(std::uint64_t choices) { return random_() % choices; }

  WriterTask next_task(std::uint64_t steps) {
    const std::uint64_t config = random_();
    history_ << " (" << random_config(config).ranks << " ranks, "
             << name_of(random_config(config).plan.strategy) << ", keep "
             << random_config(config).plan.retained_steps << ")";
    keep_ = random_config(config).plan.retained_steps;
    return {
        .path = path_, .contents_seed = contents_.seed(), .config_seed = config, .steps = steps};
  }

  void write() {
    WriterProcess writer(next_task(1 + choice(4)));
    EXPECT_EQ(writer.error_at_exit(), "");
    add_acknowledged(writer);
    EXPECT_EQ(stray_files(path_), std::vector<std::string>());
  }

  void kill() {
    WriterProcess writer(next_task(kUntilKilled));
    kill_some_time(writer);
  }

  void kill_some_time(WriterProcess& writer) {
    writer.wait_for(choice(4), kLongestStart);
    writer.wait_for(SIZE_MAX, std::chrono::microseconds(choice(60'000)));
    writer.kill();
    add_acknowledged(writer);
  }

  /// Another holder is rejected, and the first one is not disturbed.
  void contend() {
    WriterProcess first(next_task(kUntilKilled));
    first.wait_for(1, kLongestStart);
    const auto before = first.acknowledged().size();
    ASSERT_GE(before, 1U);
    WriterProcess second({.path = path_, .contents_seed = contents_.seed(), .steps = 1});
    EXPECT_NE(second.error_at_exit().find("is being written by"), std::string::npos);
    EXPECT_TRUE(second.acknowledged().empty());
    first.wait_for(first.acknowledged().size() + 2, kLongestStart);
    EXPECT_GT(first.acknowledged().size(), before);
    kill_some_time(first);
  }

  /// Later operations use the copy; the original must not change.
  void copy() {
    if (!std::filesystem::exists(path_)) return;
    const std::string to = directory_ / ("copy-" + std::to_string(++copies_) + ".fb");
    std::filesystem::copy(path_, to);
    previous_paths_.emplace_back(path_, acknowledged_);
    path_ = to;
  }

  /// Flips one bit of a slot. The next holder must not discard the step that it listed.
  void damage() {
    if (acknowledged_.empty() || may_have_been_removing()) return;
    flip_bit(choice(2 * format::kPageBytes), choice(8));
    const auto report = format::verify(path_);
    ASSERT_TRUE(report);
    if (report->findings.empty()) return;  // in a slot that was zero
    if (choice(2) == 0) {
      WriterProcess writer(next_task(1));
      const std::string error_text = writer.error_at_exit();
      EXPECT_TRUE(error_text.empty() || error_text.find("repair") != std::string::npos)
          << error_text;
      add_acknowledged(writer);
    }
    const auto repaired = write::repair(path_);
    ASSERT_TRUE(repaired) << repaired.error().message();
    for (const Error& error : repaired->unrepaired)
      ADD_FAILURE() << "repair leaves: " << error.message();
    may_have_gap_ = true;
  }

  /// Whether the writer may have been killed between two files of a step that its plan dropped.
  /// With a damaged slot for that step, repair reports the remaining files and does not remove
  /// them.
  bool may_have_been_removing() const {
    return keep_ > 0 && std::filesystem::exists(path_ + "/owner");
  }

  void flip_bit(std::uint64_t offset, std::uint64_t bit) {
    std::fstream file(path_ + "/commits", std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const auto flipped = static_cast<char>(file.get() ^ (1 << bit));
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(flipped);
    ASSERT_TRUE(file.flush()) << "flip a bit at " << offset;
  }

  /// Repair removes the `owner` of a killed holder, which may_have_been_removing() checks.
  void repair_intact_dataset() {
    if (acknowledged_.empty() || may_have_been_removing()) return;
    const auto repaired = write::repair(path_);
    ASSERT_TRUE(repaired) << repaired.error().message();
    EXPECT_TRUE(repaired->rewritten_paths.empty());
    EXPECT_TRUE(repaired->errors.empty());
  }

  /// Adds the acknowledged steps of this writer. Removes those that its plan may have dropped,
  /// counted from the newest step on disk, which may be newer than the last receipt.
  void add_acknowledged(const WriterProcess& writer) {
    acknowledged_.insert(writer.acknowledged().begin(), writer.acknowledged().end());
    const auto reader = CatalogReader::open(path_);
    if (keep_ == 0 || !reader || reader->steps().empty()) return;
    const std::uint64_t newest = reader->steps().back();
    std::erase_if(acknowledged_, [&](std::uint64_t step) { return step + keep_ <= newest; });
  }

  void expect_acknowledged() {
    expect_kept(path_, acknowledged_);
    for (const auto& [path, promised] : previous_paths_)
      expect_kept(path, promised);
  }
  void expect_kept(const std::string& path, const std::set<std::uint64_t>& promised) {
    if (promised.empty()) return;
    EXPECT_TRUE(is_intact(path, contents_, *promised.rbegin())) << path;
    EXPECT_TRUE(may_have_gap_ || has_no_gap(path)) << path;
    const auto reader = CatalogReader::open(path);
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_TRUE(std::ranges::includes(reader->steps(), promised)) << path << ": a step was lost";
  }

  const TemporaryDirectory directory_;
  std::string path_ = directory_ / "run.fb";
  const TestContents contents_{GetParam()};
  std::mt19937_64 random_{GetParam()};
  std::uint32_t keep_ = 0;
  std::uint64_t copies_ = 0;
  /// Of steps in flight at a kill, repair adds those that are complete, in any order.
  bool may_have_gap_ = false;
  std::set<std::uint64_t> acknowledged_;  ///< at path_, and not dropped since
  std::vector<std::pair<std::string, std::set<std::uint64_t>>> previous_paths_;
  std::ostringstream history_;
};

TEST_P(RandomHistory, keeps_every_acknowledged_step) {
  for (std::uint64_t i = 0; i < kOperations && !HasFailure(); ++i) {
    run_one();
    if (HasFailure()) ADD_FAILURE() << "seed " << GetParam() << history();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Seeds,
    RandomHistory,
    testing::Range<std::uint64_t>(1, 1 + (is_exhaustive() ? kHistoriesAll : kHistories)),
    seed_name);

}  // namespace
}  // namespace forebay::faults
