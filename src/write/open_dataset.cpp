// SPDX-License-Identifier: Apache-2.0
// One rank decides, all ranks receive the decision, and each sets up its part.
#include "write/open_dataset.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "format/records.hpp"
#include "write/dataset_agent.hpp"
#include "write/packer.hpp"
#include "write/plan.hpp"
#include "write/plan_limits.hpp"

namespace forebay::write {

namespace {

/// The offsets of all regions of a rank in a step are one message.
constexpr std::uint32_t kMessageBytesMax = std::uint32_t{1} << 30U;
/// Recycled files that a file owner keeps. With retained_steps, one file is freed for each new one.
constexpr std::uint32_t kFreeFilesMax = 2;
/// Time within which all ranks must see what the first rank has just created.
constexpr std::chrono::milliseconds kDirectoryTimeout{5000};

template <class T>
Status status_of(const Result<T>& result) {
  return result ? Status() : Status(tl::unexpect, result.error());
}

/// Broadcasts the bytes of the first rank. The size of `bytes` on other ranks is arbitrary.
Status broadcast_bytes(comm::Communicator& ranks, comm::Bytes& bytes) {
  std::uint64_t size_bytes = bytes.size();
  const Status status = ranks.broadcast(std::as_writable_bytes(std::span(&size_bytes, 1)), {0});
  if (!status) return status;
  bytes.resize(size_bytes);
  return ranks.broadcast(bytes, {0});
}

/// Collective over the compute ranks.
Result<Decision> decide_collectively(comm::Communicator& ranks, const OpenRequest& request) {
  const bool is_first = ranks.rank() == comm::Rank{AggregationMap::coordinator()};
  const bool may_change = request.tuning.is_enabled || request.plan_chooser != nullptr;
  Result<Decision> decision =
      is_first
          ? decide({.path = request.path,
                    .existing = request.existing,
                    .facts = request.facts,
                    .requested = request.requested_plan,
                    .tuning = request.tuning,
                    .plan_changes = may_change ? PlanChanges::kBetweenGroups : PlanChanges::kNever},
                   request.log)
          : Result<Decision>(Decision{});
  if (const Status agreed = ranks.agree(status_of(decision)); !agreed)
    return failure(agreed.error());
  comm::Bytes bytes = is_first ? to_bytes(*decision) : comm::Bytes();
  if (const Status status = broadcast_bytes(ranks, bytes); !status) return failure(status.error());
  if (!is_first) decision = decision_from_bytes(bytes);
  if (const Status agreed = ranks.agree(status_of(decision)); !agreed)
    return failure(agreed.error());
  decision->path = request.path;
  return decision;
}

/// Collective over the compute ranks. Returns the ranks that take part in the following calls.
Result<comm::Communicator*> notify_io_ranks(const JobCommunicators& ranks,
                                            const Decision& decision) {
  if (decision.plan.tuning.placement != Placement::kDedicated) return &ranks.compute;
  const bool is_first = ranks.compute.rank() == comm::Rank{AggregationMap::coordinator()};
  const auto call = [&](IoRankNotifier* io_rank_notifier) {
    return is_first ? io_rank_notifier->notify(to_bytes(decision), stall_max(decision.plan))
                    : Status();
  };
  const Status called = ranks.io_rank_notifier.and_then(call);
  if (const Status agreed = ranks.compute.agree(called); !agreed)
    return failure(with_location(agreed.error(), decision.path));
  return &ranks.all_ranks;
}

/// How the staging memory of one rank is divided.
struct MemoryPartition {
  std::uint64_t segment_bytes = 0;
  std::uint64_t staging_bytes = 0;  ///< for blocks that it puts
  /// For bytes of other ranks. If their memory is mapped: for bytes whose mapping fails.
  std::uint64_t receive_bytes = 0;
};

/// If plans change, each rank may become a writer, and units of any length consist of segments of
/// the least length. The memory of both pools is allocated only as it is used.
MemoryPartition partition_for_changes(const RankLayout& rank_layout,
                                      const WritePlan& plan,
                                      RankNumber me) {
  MemoryPartition partition;
  partition.segment_bytes = format::kPieceBytes;
  const bool puts = me < rank_layout.compute_rank_count();
  const bool is_alone = rank_layout.compute_rank_count() + rank_layout.io_rank_count() == 1;
  if (!is_alone) partition.receive_bytes = plan.memory_bytes / (puts ? 2 : 1);
  if (puts) partition.staging_bytes = plan.memory_bytes - partition.receive_bytes;
  return partition;
}

MemoryPartition partition_memory(const RankLayout& rank_layout,
                                 const AggregationMap& aggregation,
                                 const WritePlan& plan,
                                 RankNumber me) {
  MemoryPartition partition;
  partition.segment_bytes = segment_bytes_of(plan);
  const bool puts = me < rank_layout.compute_rank_count();
  const auto others = aggregation.sources_of(me);
  if (!others.empty()) {
    const bool are_all_on_node = std::ranges::all_of(others, [&](RankNumber other) {
      return rank_layout.node_of(other) == rank_layout.node_of(me);
    });
    const bool is_mapped = plan.tuning.exchange == Exchange::kSharedMemory && are_all_on_node;
    partition.receive_bytes =
        is_mapped ? kSegmentsMin * partition.segment_bytes : plan.memory_bytes / (puts ? 2 : 1);
  }
  if (puts) partition.staging_bytes = plan.memory_bytes - partition.receive_bytes;
  return partition;
}

/// Less for a dataset without steps if its staging is large: memory_bytes is then only a bound, and
/// does not show the size of steps.
std::uint64_t prefault_bytes(const Decision& decision, std::uint64_t staging_bytes) {
  const std::uint64_t most = StagingPoolOptions().prefault_bytes;
  const bool is_guess = !decision.state.has_steps && staging_bytes > most;
  return is_guess ? kMemoryBytesDefault : most;
}

/// The ranks that have the dataset open: I/O ranks only if they write by the plan at opening.
RankLayout participants_of(const Decision& decision, const OpenRequest& request) {
  RankLayout rank_layout = request.facts.rank_layout;
  if (decision.plan.tuning.placement != Placement::kDedicated) rank_layout.node_of_io_rank.clear();
  return rank_layout;
}

/// What one rank creates without other ranks. All ranks create the connections together.
struct RankResources {
  std::unique_ptr<AsyncFileWriter> file_writer;
  std::shared_ptr<StagingPool> staging;          ///< null on a rank that puts nothing
  std::shared_ptr<StagingPool> receive_staging;  ///< null if no other rank sends bytes here
  std::unique_ptr<CollectiveIoThread> collective_io_thread;
};

Result<RankResources> create_resources(const Decision& decision,
                                       const OpenRequest& request,
                                       RankNumber me) {
  if (!request.queues) return failure(request.queues.error());
  const RankLayout rank_layout = participants_of(decision, request);
  const AggregationMap aggregation(rank_layout, decision.plan);
  const bool may_change = decision.plan_changes == PlanChanges::kBetweenGroups;
  // Detects a rank whose path leads to another directory, as on storage that is not shared.
  if (may_change || aggregation.is_writer(me))
    if (const Status verified =
            verify_lease(decision.path, decision.state.lease_nonce, kDirectoryTimeout);
        !verified)
      return failure(verified.error());
  const MemoryPartition partition =
      may_change ? partition_for_changes(rank_layout, decision.plan, me)
                 : partition_memory(rank_layout, aggregation, decision.plan, me);
  RankResources resources;
  if (partition.staging_bytes > 0) {
    auto staging =
        StagingPool::create({.memory_bytes = partition.staging_bytes,
                             .segment_bytes = partition.segment_bytes,
                             .prefault_bytes = prefault_bytes(decision, partition.staging_bytes),
                             .source = request.buffers,
                             .log = request.log});
    if (!staging) return failure(staging.error());
    resources.staging = std::move(*staging);
  }
  if (partition.receive_bytes > 0) {
    auto receive_staging = StagingPool::create({.memory_bytes = partition.receive_bytes,
                                                .segment_bytes = partition.segment_bytes,
                                                .prefault_bytes = 0});
    if (!receive_staging) return failure(receive_staging.error());
    resources.receive_staging = std::move(*receive_staging);
  }
  auto file_writer = AsyncFileWriter::start(
      {.directory = decision.path,
       .dataset = decision.state.dataset,
       .queues = *request.queues,
       .files = decision.plan.files,
       .stripes = {decision.plan.tuning.stripe_bytes, decision.plan.tuning.stripe_count},
       .free_files_max = kFreeFilesMax,
       .log = request.log});
  if (!file_writer) return failure(file_writer.error());
  resources.file_writer = std::move(*file_writer);
  return resources;
}

/// Collective: creates a communicator for the ranks of each file, if the plan needs them.
Status create_file_communicators(comm::Communicator& ranks,
                                 RankResources& resources,
                                 const Decision& decision,
                                 const OpenRequest& request) {
  if (decision.plan.tuning.transfer_mode != TransferMode::kCollective) return {};
  const AggregationMap aggregation(request.facts.rank_layout, decision.plan);
  const std::uint32_t me = ranks.rank().number;
  auto file_ranks = ranks.split({.color = aggregation.file_of(me), .key = me});
  auto io_thread =
      file_ranks ? CollectiveIoThread::start(std::move(*file_ranks))
                 : Result<std::unique_ptr<CollectiveIoThread>>(tl::unexpect, file_ranks.error());
  const Status agreed = ranks.agree(status_of(io_thread));
  if (agreed) resources.collective_io_thread = std::move(*io_thread);
  return agreed;
}

/// The resources and connections of a rank, before its agent starts.
struct PreparedRank {
  RankResources resources;
  std::unique_ptr<comm::MessageTransport> transport;
};

/// Collective over all ranks that take part.
Result<PreparedRank> prepare(comm::Communicator& ranks,
                             const Decision& decision,
                             const OpenRequest& request) {
  auto resources = create_resources(decision, request, ranks.rank().number);
  if (const Status agreed = ranks.agree(status_of(resources)); !agreed)
    return failure(agreed.error());
  if (const Status grouped = create_file_communicators(ranks, *resources, decision, request);
      !grouped)
    return failure(grouped.error());
  comm::LinkOptions links = request.links;
  links.limits.payload_bytes_max = kMessageBytesMax;
  // open() agrees on its Error on all ranks.
  auto transport = comm::MessageTransport::open(ranks, links);
  if (!transport) return failure(transport.error());
  return PreparedRank{std::move(*resources), std::move(*transport)};
}

/// What an agent calls on a compute rank.
struct AgentCallbacks {
  StepProducer::OnResolved on_resolved;
  DatasetAgent::OnPlansDecided on_plans_decided;
};

Result<std::shared_ptr<DatasetAgent>> start_agent(PreparedRank prepared,
                                                  Decision& decision,
                                                  OpenRequest& request,
                                                  AgentCallbacks callbacks) {
  return DatasetAgent::start(
      {.path = decision.path,
       .plan = decision.plan,
       .plan_changes = decision.plan_changes,
       .rank_layout = participants_of(decision, request),
       .dataset = decision.state.dataset,
       .first_group = decision.state.first_group,
       .newest_bytes = decision.state.newest_bytes,
       .transport = std::move(prepared.transport),
       .file_writer = std::move(prepared.resources.file_writer),
       .collective_io_thread = std::move(prepared.resources.collective_io_thread),
       .receive_staging = std::move(prepared.resources.receive_staging),
       .plan_chooser = request.plan_chooser ? request.plan_chooser : decision.tuner,
       .commit_log = decision.commit_log,
       .lease = std::move(decision.lease),
       .on_resolved = std::move(callbacks.on_resolved),
       .on_plans_decided = std::move(callbacks.on_plans_decided),
       .log = request.log});
}

Result<std::shared_ptr<DatasetWriterCore>> start(PreparedRank prepared,
                                                 Decision& decision,
                                                 OpenRequest& request) {
  const PlanSchedule plans({.rank_layout = request.facts.rank_layout,
                            .plan = decision.plan,
                            .first_group = decision.state.first_group,
                            .changes = decision.plan_changes});
  DatasetWriterCore::Setup setup{.path = request.path,
                                 .plan = plans.plan(decision.state.first_group),
                                 .begin_end = plans.decided_end(),
                                 .dataset = decision.state.dataset,
                                 .first_group = decision.state.first_group,
                                 .newest_step = {},
                                 .rank = prepared.transport->rank().number,
                                 .staging = std::move(prepared.resources.staging),
                                 .receive_staging = prepared.resources.receive_staging,
                                 .executor = request.executor,
                                 .tuner = decision.tuner,
                                 .profile_path = request.tuning.profile_path};
  if (decision.state.has_steps) setup.newest_step = decision.state.newest_step;
  const std::shared_ptr<DatasetWriterCore> core(new DatasetWriterCore(std::move(setup)),
                                                detail::OriginDeleter());
  const auto resolved = [weak = std::weak_ptr(core)](const StepId& step, const Status& outcome) {
    if (const auto alive = weak.lock()) alive->on_resolved(step, outcome);
  };
  const auto decided = [weak = std::weak_ptr(core)](const PlanSchedule& changed,
                                                    std::uint64_t begin_end) {
    if (const auto alive = weak.lock()) alive->on_plans_decided(changed, begin_end);
  };
  auto agent = start_agent(std::move(prepared), decision, request, {resolved, decided});
  if (!agent) return failure(agent.error());
  core->set_agent(std::move(*agent));
  return core;
}

}  // namespace

RankLayout rank_layout_of(const comm::Communicator& ranks, std::uint32_t computing) {
  RankLayout rank_layout;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    auto& nodes = rank < computing ? rank_layout.node_of_compute_rank : rank_layout.node_of_io_rank;
    nodes.push_back(ranks.nodes().node_of({rank}).number);
  }
  return rank_layout;
}

Result<std::shared_ptr<DatasetWriterCore>> open_dataset(const JobCommunicators& ranks,
                                                        OpenRequest request) {
  auto decision = decide_collectively(ranks.compute, request);
  if (!decision) return failure(decision.error());
  const auto selected = notify_io_ranks(ranks, *decision);
  if (!selected) return failure(selected.error());
  comm::Communicator& participants = **selected;
  auto prepared = prepare(participants, *decision, request);
  if (!prepared) return failure(prepared.error());
  auto core = start(std::move(*prepared), *decision, request);
  if (const Status agreed = participants.agree(status_of(core)); !agreed)
    return failure(agreed.error());
  return core;
}

Result<std::shared_ptr<DatasetAgent>> join_dataset(comm::Communicator& ranks,
                                                   Decision decision,
                                                   OpenRequest request) {
  auto prepared = prepare(ranks, decision, request);
  if (!prepared) return failure(prepared.error());
  auto agent = start_agent(std::move(*prepared), decision, request, {});
  if (const Status agreed = ranks.agree(status_of(agent)); !agreed) return failure(agreed.error());
  return agent;
}

}  // namespace forebay::write
