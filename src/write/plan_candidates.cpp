// SPDX-License-Identifier: Apache-2.0
#include "write/plan_candidates.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "stream/write_access.hpp"
#include "write/cost.hpp"
#include "write/plan_limits.hpp"
#include "write/plan_schedule.hpp"
#include "write/plan_shape.hpp"

namespace forebay::write {

namespace {

/// With more ranks, numbers of writers and files grow by 4 instead of 2.
constexpr std::uint32_t kFineCountsMax = 128;
constexpr std::uint64_t kTunedUnitMax = 16_MiB;
constexpr std::uint64_t kUnitFactor = 4;

using Counts = std::vector<std::uint32_t>;

/// The values that may differ. Different strategies with equal values are one plan.
auto tuned_shape(const WritePlan& plan) {
  return std::tuple{plan.writers,           plan.files,
                    plan.tuning.exchange,   plan.tuning.transfer_mode,
                    plan.tuning.unit_bytes, plan.tuning.access};
}

class PlanEnumeration {
 public:
  PlanEnumeration(const WriteFacts& facts, const WritePlan& requested, const WritePlan& opened)
      : facts_(facts),
        base_(requested),
        opened_(opened),
        step_bytes_(totals_of(facts).bytes),
        schedule_({.rank_layout = facts.rank_layout, .plan = opened}),
        writers_max_(writers_limit(facts, opened)),
        nodes_(facts.rank_layout.node_count()),
        plans_{opened} {
    base_.memory_bytes = opened.memory_bytes;
    base_.tuning.placement = opened.tuning.placement;
    base_.tuning.checksum_stage = opened.tuning.checksum_stage;
  }

  void add_strategy(Strategy strategy) {
    const bool is_fixed = strategy == Strategy::kCollective || strategy == Strategy::kSerial;
    for (const std::uint32_t writers : writer_counts(strategy)) {
      Counts files = is_fixed ? Counts{opened_.files} : counts(base_.files, writers);
      if (strategy == Strategy::kFilePerProcess)
        std::erase_if(files, [=](std::uint32_t count) { return count != writers; });
      for (const std::uint32_t count : files)
        add_variants({strategy, writers, count});
    }
  }
  std::vector<WritePlan> take() { return std::move(plans_); }

 private:
  Counts writer_counts(Strategy strategy) const {
    if (strategy == Strategy::kCollective || strategy == Strategy::kSerial)
      return {opened_.writers};
    if (is_every_rank_writing(strategy) && base_.writers == 0) return {writers_max_};
    return counts(base_.writers, writers_max_);
  }

  /// `given` if it is set. Else powers, `most`, and the numbers of nodes and servers.
  Counts counts(std::uint32_t given, std::uint32_t most) const {
    if (given != 0) return {given};
    const std::uint64_t factor = writers_max_ <= kFineCountsMax ? 2 : 4;
    return counts_up_to(most, factor, {nodes_, std::max(1U, facts_.server_count())});
  }

  /// Units below and above the one at opening, for the strategies on which they have most effect.
  std::vector<std::uint64_t> units(Strategy strategy) const {
    const std::uint64_t unit = opened_.tuning.unit_bytes;
    if (base_.tuning.unit_bytes != 0) return {base_.tuning.unit_bytes};
    const bool has_one = strategy == Strategy::kBaton || strategy == Strategy::kGather;
    if (has_one) return {unit};
    return {unit, std::min(unit * kUnitFactor, std::max(unit, kTunedUnitMax)),
            std::max(unit / kUnitFactor, std::min(unit, kUnitBytesSmall))};
  }

  void add_variants(const PlanShape& shape) {
    WritePlan plan = base_;
    plan.strategy = shape.strategy;
    plan.writers = shape.writers;
    plan.files = shape.files;
    for (const std::uint64_t unit : units(shape.strategy)) {
      plan.tuning.unit_bytes = unit;
      add(plan);
    }
    if (!has_other_access()) return;
    plan.tuning.unit_bytes = units(shape.strategy).front();
    for (const Access access : {Access::kBuffered, Access::kDirect}) {
      plan.tuning.access = access;
      if (!is_usual(access, shape.files)) add(plan);
    }
  }

  /// On FUSE, buffered writes of a file wait for each other, and memory has no other access.
  bool has_other_access() const {
    return !base_.tuning.access && facts_.storage != StorageKind::kMemory &&
           facts_.file_system != storage::FileSystem::kFuse;
  }

  /// Whether files get this access without a request. With unknown bytes, that is not known.
  bool is_usual(Access access, std::uint32_t files) const {
    const auto usual = stream::choose_write_access(
        {.file_system = facts_.file_system,
         .is_direct_supported = true,
         .expected_bytes = static_cast<std::uint64_t>(step_bytes_ / files)});
    return !facts_.step_bytes.empty() && usual.access == access;
  }

  /// Adds the plan unless it is invalid, known, or not possible since opening.
  void add(const WritePlan& plan) {
    const auto complete = plan_write(facts_, plan);
    if (!complete || !schedule_.complete(*complete)) return;
    const auto is_same = [&](const WritePlan& known) {
      return tuned_shape(known) == tuned_shape(*complete);
    };
    if (std::ranges::none_of(plans_, is_same)) plans_.push_back(*complete);
  }

  const WriteFacts& facts_;
  WritePlan base_;
  const WritePlan& opened_;
  const double step_bytes_;
  const PlanSchedule schedule_;
  const std::uint32_t writers_max_;
  const std::uint32_t nodes_;
  std::vector<WritePlan> plans_;
};

}  // namespace

std::vector<WritePlan> candidate_plans(const WriteFacts& facts,
                                       const WritePlan& requested,
                                       const WritePlan& opened) {
  PlanEnumeration enumeration(facts, requested, opened);
  const Strategy implied = implied_strategy(facts, requested);
  if (implied != Strategy::kAuto) {
    enumeration.add_strategy(implied);
    return enumeration.take();
  }
  for (const Strategy strategy :
       {Strategy::kFilePerProcess, Strategy::kReducedBlocking, Strategy::kBaton, Strategy::kGather})
    enumeration.add_strategy(strategy);
  return enumeration.take();
}

}  // namespace forebay::write
