// SPDX-License-Identifier: Apache-2.0
// One rank decides, all hear of it, each furnishes its part.
#include "write/opening.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "format/records.hpp"
#include "write/agent.hpp"
#include "write/lease.hpp"
#include "write/leftovers.hpp"
#include "write/packer.hpp"
#include "write/publisher.hpp"

namespace forebay::write {

namespace {

/// A part in a letter to the owner of a file is one message, however many blocks it has.
constexpr std::uint32_t kLetterBytesMax = std::uint32_t{1} << 30U;
constexpr mode_t kFolderMode = 0777;  ///< less what the umask takes
/// Room for bytes that come in messages although they were to be mapped.
constexpr std::uint64_t kSpareSegments = 2;
/// Kept by the owner of a file: where steps are pruned, one comes for each that is made.
constexpr std::uint32_t kFreeFilesMax = 2;

/// What the first rank has found, as the others hear it.
struct Told {
  format::DatasetId dataset = {};
  std::uint64_t first_group = 0;
  std::uint64_t newest_step = 0;
  bool has_steps = false;
};

struct Opening {
  WritePlan plan;
  Told told;
  std::shared_ptr<Publisher> publisher;  ///< of the first rank, as is:
  std::unique_ptr<Lease> lease;
};

template <class T>
Status status_of(const Result<T>& result) {
  return result ? Status() : Status(tl::unexpect, result.error());
}

/// The lease lies in it, so it comes first. That it is durable is the publisher's concern.
Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), kFolderMode) == 0 || errno == EEXIST) return {};
  return tl::unexpected<Error>(system_error({.operation = "make a dataset", .path = path}, errno));
}

Result<Opening> decide(const OpenRequest& request) {
  auto plan = plan_write(request.facts, request.wanted);
  if (!plan) return tl::unexpected<Error>(located(plan.error(), request.path));
  Opening opening{.plan = std::move(*plan), .told = {}, .publisher = nullptr, .lease = nullptr};
  if (const Status made = make_folder(request.path); !made)
    return tl::unexpected<Error>(made.error());
  auto lease = Lease::acquire(request.path);
  if (!lease) return tl::unexpected<Error>(lease.error());
  opening.lease = std::move(*lease);
  auto publisher = Publisher::open(request.path);
  if (!publisher) return tl::unexpected<Error>(publisher.error());
  opening.publisher = std::move(*publisher);
  remove_leftovers(request.path, opening.publisher->steps());
  opening.told.dataset = opening.publisher->dataset();
  for (const format::StepEntry& step : opening.publisher->steps()) {
    opening.told.first_group = std::max(opening.told.first_group, step.group + 1);
    opening.told.newest_step = step.step;
    opening.told.has_steps = true;
  }
  return opening;
}

/// The bytes of the first rank, on all; the others need not know how many.
Status share(comm::Communicator& ranks, comm::Bytes& bytes) {
  std::uint64_t size_bytes = bytes.size();
  const Status told = ranks.broadcast(std::as_writable_bytes(std::span(&size_bytes, 1)), {0});
  if (!told) return told;
  bytes.resize(size_bytes);
  return ranks.broadcast(bytes, {0});
}

/// A plan travels as the text that people write; its reason with it.
comm::Bytes bytes_of_opening(const Opening& opening) {
  const std::string toml = to_toml(opening.plan);
  comm::Bytes bytes(sizeof(Told) + toml.size());
  std::memcpy(bytes.data(), &opening.told, sizeof(Told));
  std::memcpy(bytes.data() + sizeof(Told), toml.data(), toml.size());
  return bytes;
}

Result<Opening> opening_from(std::span<const std::byte> bytes, const OpenRequest& request) {
  Opening opening;
  std::memcpy(&opening.told, bytes.data(), sizeof(Told));
  const auto toml = bytes.subspan(sizeof(Told));
  const std::string_view text(reinterpret_cast<const char*>(toml.data()), toml.size());
  auto plan = write_plan_from(text, request.path);
  if (!plan) return tl::unexpected<Error>(plan.error());
  opening.plan = std::move(*plan);
  return opening;
}

Result<Opening> decide_together(comm::Communicator& ranks, const OpenRequest& request) {
  const bool is_first = ranks.rank() == comm::Rank{Routes::coordinator()};
  Result<Opening> opening = is_first ? decide(request) : Result<Opening>(Opening{});
  if (const Status agreed = ranks.agree(status_of(opening)); !agreed)
    return tl::unexpected<Error>(agreed.error());
  comm::Bytes bytes = is_first ? bytes_of_opening(*opening) : comm::Bytes();
  if (const Status told = share(ranks, bytes); !told) return tl::unexpected<Error>(told.error());
  if (!is_first) opening = opening_from(bytes, request);
  return opening;
}

/// How the memory of one rank is divided.
struct MemoryShares {
  std::uint64_t segment_bytes = 0;
  std::uint64_t staging_bytes = 0;
  std::uint64_t receiving_bytes = 0;
};

MemoryShares shares_of(const Crew& crew, const Routes& routes, const WritePlan& plan, Rank me) {
  MemoryShares shares;
  const std::uint64_t unit = format::round_up(plan.unit_bytes, format::kPieceBytes);
  shares.segment_bytes = std::min(unit, kChunkBytesMax);
  const auto others = routes.sources_of(me);
  if (others.empty()) {
    shares.staging_bytes = std::max(plan.memory_bytes, 2 * shares.segment_bytes);
    return shares;
  }
  const bool are_all_here = std::ranges::all_of(
      others, [&](Rank other) { return crew.node_of(other) == crew.node_of(me); });
  const bool is_mapped = plan.hand_off == HandOff::kSharedMemory && are_all_here;
  shares.receiving_bytes =
      is_mapped ? kSpareSegments * shares.segment_bytes : plan.memory_bytes / 2;
  shares.receiving_bytes = std::max(shares.receiving_bytes, shares.segment_bytes);
  const std::uint64_t rest =
      plan.memory_bytes - std::min(shares.receiving_bytes, plan.memory_bytes);
  shares.staging_bytes = std::max(rest, 2 * shares.segment_bytes);
  return shares;
}

/// This rank's part, but for the connections, which all make together.
struct Furniture {
  std::shared_ptr<DatasetCore> core;
  std::unique_ptr<FileLane> lane;
  std::shared_ptr<Staging> receiving;
  std::unique_ptr<RoundCaller> round_caller;
};

Result<Furniture> furnish(const Opening& opening, const OpenRequest& request, Rank me) {
  const Routes routes(request.facts.crew, opening.plan);
  const MemoryShares shares = shares_of(request.facts.crew, routes, opening.plan, me);
  auto staging =
      Staging::make({.memory_bytes = shares.staging_bytes, .segment_bytes = shares.segment_bytes});
  if (!staging) return tl::unexpected<Error>(staging.error());
  Furniture furniture;
  if (shares.receiving_bytes > 0) {
    auto receiving = Staging::make({.memory_bytes = shares.receiving_bytes,
                                    .segment_bytes = shares.segment_bytes,
                                    .ready_bytes = 0});
    if (!receiving) return tl::unexpected<Error>(receiving.error());
    furniture.receiving = std::move(*receiving);
  }
  auto lane = FileLane::start({.folder = request.path,
                               .dataset = opening.told.dataset,
                               .queues = request.queues,
                               .stripes = {opening.plan.stripe_bytes, opening.plan.targets},
                               .free_files_max = kFreeFilesMax});
  if (!lane) return tl::unexpected<Error>(lane.error());
  furniture.lane = std::move(*lane);
  DatasetCore::Setup setup{.path = request.path,
                           .plan = opening.plan,
                           .dataset = opening.told.dataset,
                           .first_group = opening.told.first_group,
                           .newest_step = {},
                           .rank = me,
                           .staging = std::move(*staging),
                           .executor = request.executor};
  if (opening.told.has_steps) setup.newest_step = opening.told.newest_step;
  furniture.core = std::make_shared<DatasetCore>(std::move(setup));
  return furniture;
}

/// Collective: the ranks of each file get a message space of their own, where that is needed.
Status found_groups(comm::Communicator& ranks,
                    Furniture& furniture,
                    const Opening& opening,
                    const OpenRequest& request) {
  if (opening.plan.schedule != Schedule::kCollective) return {};
  const Routes routes(request.facts.crew, opening.plan);
  const std::uint32_t me = ranks.rank().number;
  auto group = ranks.split({.color = routes.file_of(me), .key = me});
  auto caller = group ? RoundCaller::start(std::move(*group))
                      : Result<std::unique_ptr<RoundCaller>>(tl::unexpect, group.error());
  const Status agreed = ranks.agree(status_of(caller));
  if (agreed) furniture.round_caller = std::move(*caller);
  return agreed;
}

Result<std::shared_ptr<DatasetCore>> start(Furniture furniture,
                                           Opening& opening,
                                           const OpenRequest& request,
                                           std::unique_ptr<comm::PostOffice> office) {
  const auto resolved = [core = std::weak_ptr(furniture.core)](const StepName& step,
                                                               const Status& outcome) {
    if (const auto alive = core.lock()) alive->on_resolved(step, outcome);
  };
  auto agent = Agent::start({.path = request.path,
                             .plan = opening.plan,
                             .crew = request.facts.crew,
                             .dataset = opening.told.dataset,
                             .first_group = opening.told.first_group,
                             .office = std::move(office),
                             .lane = std::move(furniture.lane),
                             .round_caller = std::move(furniture.round_caller),
                             .receiving = std::move(furniture.receiving),
                             .publisher = opening.publisher,
                             .lease = std::move(opening.lease),
                             .on_resolved = resolved});
  if (!agent) return tl::unexpected<Error>(agent.error());
  furniture.core->employ(std::move(*agent));
  return furniture.core;
}

}  // namespace

Crew crew_of(const comm::Communicator& ranks) {
  Crew crew;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
    crew.node_of_computing.push_back(ranks.nodes().node_of({rank}).number);
  return crew;
}

Result<std::shared_ptr<DatasetCore>> open_dataset(comm::Communicator& ranks,
                                                  const OpenRequest& request) {
  auto opening = decide_together(ranks, request);
  auto furniture = opening ? furnish(*opening, request, ranks.rank().number)
                           : Result<Furniture>(tl::unexpect, opening.error());
  if (const Status agreed = ranks.agree(status_of(furniture)); !agreed)
    return tl::unexpected<Error>(agreed.error());
  if (const Status founded = found_groups(ranks, *furniture, *opening, request); !founded)
    return tl::unexpected<Error>(founded.error());
  comm::LinkOptions links = request.links;
  links.limits.payload_bytes_max = kLetterBytesMax;
  auto office = comm::PostOffice::open(ranks, links);
  auto core = office ? start(std::move(*furniture), *opening, request, std::move(*office))
                     : Result<std::shared_ptr<DatasetCore>>(tl::unexpect, office.error());
  if (const Status agreed = ranks.agree(status_of(core)); !agreed)
    return tl::unexpected<Error>(agreed.error());
  return core;
}

}  // namespace forebay::write
