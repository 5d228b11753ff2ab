// SPDX-License-Identifier: Apache-2.0
// Random operations on datasets: writers that finish, are killed or meet another writer, copies,
// flipped bits of slots, and repair. After each operation every acknowledged step that no plan has
// dropped exists and is whole.
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
#include "cargo.hpp"
#include "format/records.hpp"
#include "format/verify.hpp"
#include "how_often.hpp"
#include "reading.hpp"
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
    static constexpr std::array<std::pair<const char*, Operation>, 7> kAll{
        {{"write", &RandomHistory::write},
         {"kill", &RandomHistory::kill},
         {"kill", &RandomHistory::kill},
         {"contend", &RandomHistory::contend},
         {"copy", &RandomHistory::copy},
         {"damage", &RandomHistory::damage},
         {"repair", &RandomHistory::repair_what_is_whole}}};
    const auto& [name, operation] = kAll.at(choice(kAll.size()));
    history_ << "; " << name;
    (this->*operation)();
    expect_promises_kept();
  }
  std::string history() const { return history_.str(); }

 private:
  std::uint64_t choice(std::uint64_t choices) { return random_() % choices; }

  WriterTask next_task(std::uint64_t steps) {
    const std::uint64_t way = random_();
    history_ << " (" << way_of(way).ranks << " ranks, " << name_of(way_of(way).plan.strategy)
             << ", keep " << way_of(way).plan.keep << ")";
    keep_ = way_of(way).plan.keep;
    return {.path = path_, .contents_seed = cargo_.seed(), .way_seed = way, .steps = steps};
  }

  void write() {
    WriterProcess writer(next_task(1 + choice(4)));
    EXPECT_EQ(writer.complaint_at_end(), "");
    hold_to(writer);
    EXPECT_EQ(leftovers(path_), std::vector<std::string>());
  }

  void kill() {
    WriterProcess writer(next_task(kUntilKilled));
    kill_some_time(writer);
  }

  void kill_some_time(WriterProcess& writer) {
    writer.wait_for(choice(4), kLongestStart);
    writer.wait_for(SIZE_MAX, std::chrono::microseconds(choice(60'000)));
    writer.kill();
    hold_to(writer);
  }

  /// Another writer is refused, and the first one is not disturbed.
  void contend() {
    WriterProcess first(next_task(kUntilKilled));
    first.wait_for(1, kLongestStart);
    const auto before = first.promised().size();
    ASSERT_GE(before, 1U);
    WriterProcess second({.path = path_, .contents_seed = cargo_.seed(), .steps = 1});
    EXPECT_NE(second.complaint_at_end().find("is being written by"), std::string::npos);
    EXPECT_TRUE(second.promised().empty());
    first.wait_for(first.promised().size() + 2, kLongestStart);
    EXPECT_GT(first.promised().size(), before);
    kill_some_time(first);
  }

  /// Later operations use the copy; the original must not change.
  void copy() {
    if (!std::filesystem::exists(path_)) return;
    const std::string to = folder_ / ("copy-" + std::to_string(++copies_) + ".fb");
    std::filesystem::copy(path_, to);
    left_behind_.emplace_back(path_, promised_);
    path_ = to;
  }

  /// Flips one bit of a slot. The next writer must not discard the step that it listed.
  void damage() {
    if (promised_.empty() || may_have_been_removing()) return;
    flip_bit(choice(2 * format::kPageBytes), choice(8));
    const auto report = format::verify(path_);
    ASSERT_TRUE(report);
    if (report->findings.empty()) return;  // in a slot that was zero
    if (choice(2) == 0) {
      WriterProcess writer(next_task(1));
      const std::string complaint = writer.complaint_at_end();
      EXPECT_TRUE(complaint.empty() || complaint.find("repair") != std::string::npos) << complaint;
      hold_to(writer);
    }
    const auto repaired = write::repair(path_);
    ASSERT_TRUE(repaired) << repaired.error().message();
    for (const Error& error : repaired->remaining)
      ADD_FAILURE() << "repair leaves: " << error.message();
  }

  /// Killed between two files of a step that its plan dropped: with the slot that said so damaged,
  /// repair reports the other files instead of giving them up.
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

  /// Repair removes the `owner` of a killed writer, which may_have_been_removing() looks for.
  void repair_what_is_whole() {
    if (promised_.empty() || may_have_been_removing()) return;
    const auto repaired = write::repair(path_);
    ASSERT_TRUE(repaired) << repaired.error().message();
    EXPECT_TRUE(repaired->rewritten.empty());
    EXPECT_TRUE(repaired->damages.empty());
  }

  /// Adds the acknowledged steps of this writer, and removes those that its plan may have dropped,
  /// counted from the newest step on disk, which may be newer than the last receipt.
  void hold_to(const WriterProcess& writer) {
    promised_.insert(writer.promised().begin(), writer.promised().end());
    const auto reader = StepReader::open(path_);
    if (keep_ == 0 || !reader || reader->steps().empty()) return;
    const std::uint64_t newest = reader->steps().back();
    std::erase_if(promised_, [&](std::uint64_t step) { return step + keep_ <= newest; });
  }

  void expect_promises_kept() {
    expect_kept(path_, promised_);
    for (const auto& [path, promised] : left_behind_)
      expect_kept(path, promised);
  }
  void expect_kept(const std::string& path, const std::set<std::uint64_t>& promised) {
    if (promised.empty()) return;
    EXPECT_TRUE(is_whole(path, cargo_, *promised.rbegin())) << path;
    EXPECT_TRUE(has_no_gap(path)) << path;
    const auto reader = StepReader::open(path);
    ASSERT_TRUE(reader) << reader.error().message();
    const auto steps = reader->steps();
    EXPECT_LE(steps.front(), *promised.begin()) << path << ": a step was lost";
  }

  const TemporaryFolder folder_;
  std::string path_ = folder_ / "run.fb";
  const Cargo cargo_{GetParam()};
  std::mt19937_64 random_{GetParam()};
  std::uint32_t keep_ = 0;
  std::uint64_t copies_ = 0;
  std::set<std::uint64_t> promised_;  ///< at path_, and not dropped since
  std::vector<std::pair<std::string, std::set<std::uint64_t>>> left_behind_;
  std::ostringstream history_;
};

TEST_P(RandomHistory, keeps_every_step_that_was_promised) {
  for (std::uint64_t i = 0; i < kOperations && !HasFailure(); ++i) {
    run_one();
    if (HasFailure()) ADD_FAILURE() << "seed " << GetParam() << history();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Seeds,
    RandomHistory,
    testing::Range<std::uint64_t>(1, 1 + (tries_all() ? kHistoriesAll : kHistories)),
    seed_name);

}  // namespace
}  // namespace forebay::faults
