// SPDX-License-Identifier: Apache-2.0
// Decision: the plan and the state of a dataset, as the first rank determines them when the dataset
// is opened for writing. The lease, the commit log and the tuner stay on the first rank; the other
// members are encoded for the other ranks.
#pragma once

#include <forebay/dataset_writer.hpp>
#include <forebay/error.hpp>
#include <forebay/log.hpp>
#include <forebay/write_plan.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "comm/communicator.hpp"
#include "format/records.hpp"
#include "write/commit_log.hpp"
#include "write/lease.hpp"
#include "write/plan.hpp"
#include "write/plan_schedule.hpp"
#include "write/tuning_request.hpp"

namespace forebay::write {

/// State of the dataset, as found by the first rank.
struct DatasetState {
  format::DatasetId dataset = {};
  std::uint64_t first_group = 0;
  std::uint64_t newest_step = 0;
  std::uint64_t newest_bytes = 0;  ///< stored bytes of the newest step
  bool has_steps = false;
  std::uint64_t lease_nonce = 0;  ///< other ranks verify their directory with it
};

struct Decision {
  std::string path;
  WritePlan plan = {};  ///< complete
  PlanChanges plan_changes = PlanChanges::kNever;
  DatasetState state = {};
  std::shared_ptr<CommitLog> commit_log = nullptr;  ///< only on the first rank, as `lease`
  std::unique_ptr<Lease> lease = nullptr;
  /// Chooses the plans of coming steps. Only on the first rank, and only if tuning is enabled.
  std::shared_ptr<PlanTuner> tuner = nullptr;
};

/// What the first rank decides from.
struct DecisionRequest {
  std::string path;
  ExistingDataset existing = ExistingDataset::kFail;
  WriteFacts facts;
  WritePlan requested;
  TuningRequest tuning = {};
  PlanChanges plan_changes = PlanChanges::kNever;
};

/// Does the work of the first rank: creates the directory, acquires the lease, opens the list of
/// steps, and removes files that former holders left behind. Logs damage of that list to `log`,
/// which may be null. Waits for a former holder by `clock`. Fails with kExists if the dataset has
/// steps and `existing` is kFail. Fails with kDamage if the damage affects a step that is complete
/// in its data files, or one that was dropped.
Result<Decision> decide(const DecisionRequest& request,
                        LogSink* log = nullptr,
                        LeaseClock& clock = LeaseClock::shared());

/// Encodes a decision for other ranks, without lease and commit log; and decodes it.
comm::Bytes to_bytes(const Decision& decision);
Result<Decision> decision_from_bytes(std::span<const std::byte> bytes);

}  // namespace forebay::write
