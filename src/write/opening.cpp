// SPDX-License-Identifier: Apache-2.0
// One rank decides, all hear of it, each furnishes its part.
#include "write/opening.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "format/records.hpp"
#include "write/agent.hpp"
#include "write/packer.hpp"
#include "write/plan.hpp"
#include "write/plan_limits.hpp"

namespace forebay::write {

namespace {

/// Places of all regions of a rank in a step are one letter.
constexpr std::uint32_t kLetterBytesMax = std::uint32_t{1} << 30U;
/// Kept by the owner of a file: where steps are pruned, one comes for each that is made.
constexpr std::uint32_t kFreeFilesMax = 2;
/// Until what the first rank has just made must be seen by all.
constexpr std::chrono::milliseconds kFolderPatience{5000};

template <class T>
Status status_of(const Result<T>& result) {
  return result ? Status() : Status(tl::unexpect, result.error());
}

/// The bytes of the first rank, on all; the others need not know how many.
Status share(comm::Communicator& ranks, comm::Bytes& bytes) {
  std::uint64_t size_bytes = bytes.size();
  const Status told = ranks.broadcast(std::as_writable_bytes(std::span(&size_bytes, 1)), {0});
  if (!told) return told;
  bytes.resize(size_bytes);
  return ranks.broadcast(bytes, {0});
}

/// Collective, by the ranks that compute.
Result<Decision> decide_together(comm::Communicator& ranks, const OpenRequest& request) {
  const bool is_first = ranks.rank() == comm::Rank{Routes::coordinator()};
  Result<Decision> decision = is_first
                                  ? decide(request.path, request.facts, request.wanted, request.log)
                                  : Result<Decision>(Decision{});
  if (const Status agreed = ranks.agree(status_of(decision)); !agreed)
    return failure(agreed.error());
  comm::Bytes bytes = is_first ? bytes_of(*decision) : comm::Bytes();
  if (const Status told = share(ranks, bytes); !told) return failure(told.error());
  if (!is_first) decision = decision_from(bytes);
  if (const Status agreed = ranks.agree(status_of(decision)); !agreed)
    return failure(agreed.error());
  decision->path = request.path;
  return decision;
}

/// Collective, by the ranks that compute: those who take part in what follows.
Result<comm::Communicator*> gather(const OpenRanks& ranks, const Decision& decision) {
  if (decision.plan.placement != Placement::kDedicated) return &ranks.computing;
  const bool is_first = ranks.computing.rank() == comm::Rank{Routes::coordinator()};
  const auto call = [&](Summons* summons) {
    return is_first ? summons->call(bytes_of(decision), stall_max(decision.plan)) : Status();
  };
  const Status called = ranks.summons.and_then(call);
  if (const Status agreed = ranks.computing.agree(called); !agreed)
    return failure(located(agreed.error(), decision.path));
  return &ranks.all;
}

/// How the memory of one rank is divided.
struct MemoryShares {
  std::uint64_t segment_bytes = 0;
  std::uint64_t staging_bytes = 0;  ///< for what it puts itself
  /// For what comes from others; where it is to be mapped, for what cannot be.
  std::uint64_t receiving_bytes = 0;
};

MemoryShares shares_of(const Crew& crew, const Routes& routes, const WritePlan& plan, Rank me) {
  MemoryShares shares;
  shares.segment_bytes = segment_bytes_of(plan);
  const bool puts = me < crew.computing();
  const auto others = routes.sources_of(me);
  if (!others.empty()) {
    const bool are_all_here = std::ranges::all_of(
        others, [&](Rank other) { return crew.node_of(other) == crew.node_of(me); });
    const bool is_mapped = plan.hand_off == HandOff::kSharedMemory && are_all_here;
    shares.receiving_bytes =
        is_mapped ? kSegmentsMin * shares.segment_bytes : plan.memory_bytes / (puts ? 2 : 1);
  }
  if (puts) shares.staging_bytes = plan.memory_bytes - shares.receiving_bytes;
  return shares;
}

/// Nothing says that steps of a new dataset are as large as a bound that free memory allowed.
std::uint64_t ready_bytes(const Decision& decision, std::uint64_t staging_bytes) {
  const std::uint64_t most = StagingOptions().ready_bytes;
  const bool is_guess = !decision.found.has_steps && staging_bytes > most;
  return is_guess ? kMemoryBytesDefault : most;
}

/// What a rank needs for its part, but for the connections, which all make together.
struct Furniture {
  std::unique_ptr<FileLane> lane;
  std::shared_ptr<Staging> staging;    ///< null on a rank that puts nothing
  std::shared_ptr<Staging> receiving;  ///< null where nothing comes in messages
  std::unique_ptr<RoundCaller> round_caller;
};

Result<Furniture> furnish(const Decision& decision, const OpenRequest& request, Rank me) {
  if (!request.queues) return failure(request.queues.error());
  const Crew& crew = request.facts.crew;
  const Routes routes(crew, decision.plan);
  // Else its bytes would be where nobody looks for them.
  if (routes.is_writer(me))
    if (const Status is_same = find_lease(decision.path, decision.found.lease, kFolderPatience);
        !is_same)
      return failure(is_same.error());
  const MemoryShares shares = shares_of(crew, routes, decision.plan, me);
  Furniture furniture;
  if (shares.staging_bytes > 0) {
    auto staging = Staging::make({.memory_bytes = shares.staging_bytes,
                                  .segment_bytes = shares.segment_bytes,
                                  .ready_bytes = ready_bytes(decision, shares.staging_bytes),
                                  .source = request.buffers,
                                  .log = request.log});
    if (!staging) return failure(staging.error());
    furniture.staging = std::move(*staging);
  }
  if (shares.receiving_bytes > 0) {
    auto receiving = Staging::make({.memory_bytes = shares.receiving_bytes,
                                    .segment_bytes = shares.segment_bytes,
                                    .ready_bytes = 0});
    if (!receiving) return failure(receiving.error());
    furniture.receiving = std::move(*receiving);
  }
  auto lane = FileLane::start({.folder = decision.path,
                               .dataset = decision.found.dataset,
                               .queues = *request.queues,
                               .files = decision.plan.files,
                               .stripes = {decision.plan.stripe_bytes, decision.plan.targets},
                               .free_files_max = kFreeFilesMax,
                               .log = request.log});
  if (!lane) return failure(lane.error());
  furniture.lane = std::move(*lane);
  return furniture;
}

/// Collective: the ranks of each file get a message space of their own, where that is needed.
Status found_groups(comm::Communicator& ranks,
                    Furniture& furniture,
                    const Decision& decision,
                    const OpenRequest& request) {
  if (decision.plan.schedule != Schedule::kCollective) return {};
  const Routes routes(request.facts.crew, decision.plan);
  const std::uint32_t me = ranks.rank().number;
  auto group = ranks.split({.color = routes.file_of(me), .key = me});
  auto caller = group ? RoundCaller::start(std::move(*group))
                      : Result<std::unique_ptr<RoundCaller>>(tl::unexpect, group.error());
  const Status agreed = ranks.agree(status_of(caller));
  if (agreed) furniture.round_caller = std::move(*caller);
  return agreed;
}

/// A rank's part, before its agent begins.
struct Part {
  Furniture furniture;
  std::unique_ptr<comm::PostOffice> office;
};

/// Collective, by all who take part.
Result<Part> prepare(comm::Communicator& ranks,
                     const Decision& decision,
                     const OpenRequest& request) {
  auto furniture = furnish(decision, request, ranks.rank().number);
  if (const Status agreed = ranks.agree(status_of(furniture)); !agreed)
    return failure(agreed.error());
  if (const Status founded = found_groups(ranks, *furniture, decision, request); !founded)
    return failure(founded.error());
  comm::LinkOptions links = request.links;
  links.limits.payload_bytes_max = kLetterBytesMax;
  // Agrees by itself.
  auto office = comm::PostOffice::open(ranks, links);
  if (!office) return failure(office.error());
  return Part{std::move(*furniture), std::move(*office)};
}

Result<std::shared_ptr<Agent>> start_agent(Part part,
                                           Decision& decision,
                                           const OpenRequest& request,
                                           Member::OnResolved on_resolved) {
  return Agent::start({.path = decision.path,
                       .plan = decision.plan,
                       .crew = request.facts.crew,
                       .dataset = decision.found.dataset,
                       .first_group = decision.found.first_group,
                       .newest_bytes = decision.found.newest_bytes,
                       .office = std::move(part.office),
                       .lane = std::move(part.furniture.lane),
                       .round_caller = std::move(part.furniture.round_caller),
                       .receiving = std::move(part.furniture.receiving),
                       .publisher = decision.publisher,
                       .lease = std::move(decision.lease),
                       .on_resolved = std::move(on_resolved)});
}

Result<std::shared_ptr<DatasetCore>> start(Part part,
                                           Decision& decision,
                                           const OpenRequest& request) {
  DatasetCore::Setup setup{.path = request.path,
                           .plan = decision.plan,
                           .dataset = decision.found.dataset,
                           .first_group = decision.found.first_group,
                           .newest_step = {},
                           .rank = part.office->rank().number,
                           .staging = std::move(part.furniture.staging),
                           .receiving = part.furniture.receiving,
                           .executor = request.executor};
  if (decision.found.has_steps) setup.newest_step = decision.found.newest_step;
  const std::shared_ptr<DatasetCore> core(new DatasetCore(std::move(setup)),
                                          detail::DeleteAtOrigin());
  const auto resolved = [weak = std::weak_ptr(core)](const StepName& step, const Status& outcome) {
    if (const auto alive = weak.lock()) alive->on_resolved(step, outcome);
  };
  auto agent = start_agent(std::move(part), decision, request, resolved);
  if (!agent) return failure(agent.error());
  core->employ(std::move(*agent));
  return core;
}

}  // namespace

Crew crew_of(const comm::Communicator& ranks, std::uint32_t computing) {
  Crew crew;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    auto& nodes = rank < computing ? crew.node_of_computing : crew.node_of_dedicated;
    nodes.push_back(ranks.nodes().node_of({rank}).number);
  }
  return crew;
}

Result<std::shared_ptr<DatasetCore>> open_dataset(const OpenRanks& ranks,
                                                  const OpenRequest& request) {
  auto decision = decide_together(ranks.computing, request);
  if (!decision) return failure(decision.error());
  const auto gathered = gather(ranks, *decision);
  if (!gathered) return failure(gathered.error());
  comm::Communicator& together = **gathered;
  auto part = prepare(together, *decision, request);
  if (!part) return failure(part.error());
  auto core = start(std::move(*part), *decision, request);
  if (const Status agreed = together.agree(status_of(core)); !agreed)
    return failure(agreed.error());
  return core;
}

Result<std::shared_ptr<Agent>> join_dataset(comm::Communicator& ranks,
                                            Decision decision,
                                            const OpenRequest& request) {
  auto part = prepare(ranks, decision, request);
  if (!part) return failure(part.error());
  auto agent = start_agent(std::move(*part), decision, request, {});
  if (const Status agreed = ranks.agree(status_of(agent)); !agreed) return failure(agreed.error());
  return agent;
}

}  // namespace forebay::write
