// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime_core.hpp"

#include <algorithm>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/absolute_path.hpp"
#include "base/assert.hpp"
#include "base/descriptor.hpp"
#include "base/free_memory.hpp"
#include "base/processors.hpp"
#include "read/host.hpp"
#include "runtime/cores.hpp"
#include "runtime/engine_choice.hpp"
#include "storage/file.hpp"

namespace forebay {

namespace {

/// Operations of all sessions that an agent may have under way.
constexpr std::size_t kAgentDepth = 64;
/// Threads that keep a device busy where io_uring cannot be used: one for each request under way.
constexpr std::size_t kDirectThreads = 16;
/// Copying from the page cache is bound by memory: more threads than this only take cores from the
/// application.
constexpr unsigned kOwnCopyThreadsMax = 4;
/// Of the memory that is free, what the ranks of a node take for staging by themselves: 1 / this.
constexpr std::uint64_t kStagingShare = 4;
/// With the agent of the own node, when a Runtime is made.
constexpr std::chrono::seconds kJoinPatience{20};

/// How the file is read was found out by the rank that asks.
Result<ReadPlan> plan_shared(const ReadFacts& facts, ReadPlan wanted) {
  wanted.access.reset();
  return plan_read(facts, wanted);
}

unsigned copy_threads(const RuntimeOptions& options) {
  if (options.copy_threads != 0) return options.copy_threads;
  return std::clamp(std::thread::hardware_concurrency() / 2, 1U, kOwnCopyThreadsMax);
}

}  // namespace

RuntimeCore::RuntimeCore(RuntimeOptions options, const Ranks& ranks)
    : options_(std::move(options)),
      storage_(options_.machine),
      division_(divide(ranks, options_.placement)),
      ranks_(division_.map([](const Division& division) { return division.ours; })),
      windows_(std::make_shared<read::WindowPool>(options_.budget_bytes)),
      buffers_(shm::BufferSource::make(options_.buffer_cache_bytes / ranks_of_node())),
      registry_(name_together()),
      streams_({.choice = backend_choice(options_.engine),
                .copy_threads = options_.copy_threads,
                .writer_cores = options_.writer_cores,
                .profile = options_.profile,
                .log = options_.log,
                .storage = &storage_}) {
  raise_descriptor_limit();
  if (!set_service_processors(options_.cores))
    log(LogLevel::kWarning,
        "this process may use none of the processors that the setting cores names");
  // A thread that waits for data to be copied from the page cache may as well copy some.
  loop_.set_idle_work(
      [this] { return helps_when_idle_.load(std::memory_order_acquire) && buffered_->help(); });
  const bool has_its_way = options_.placement == Placement::kInRank || !division_ ||
                           division_->here.role_of_agent == Role::kAgent;
  if (!has_its_way)
    log(LogLevel::kWarning, "no rank is given to I/O here: this node has one rank only");
  join_node();
  summons_ = connect_to_first();
}

Result<std::shared_ptr<read::Agent>> RuntimeCore::agent_for(Access access) {
  const std::lock_guard lock(mutex_);
  return access == Access::kBuffered ? copy_agent() : engine_agent();
}

void RuntimeCore::log(LogLevel level, const std::string& text) const {
  if (options_.log != nullptr) options_.log->write(level, text);
}

void RuntimeCore::tell_of(const std::string& path, const ReadPlan& plan) const {
  const std::string access(name_of(*plan.access));
  const bool is_said = plan.reason.starts_with(access);  // as in "direct: a long read"
  log(LogLevel::kInfo, path + ": " + (is_said ? "" : access + ": ") + plan.reason);
}

void RuntimeCore::keep(std::shared_ptr<comm::Turns> turns) {
  const std::lock_guard lock(mutex_);
  std::erase_if(turns_, [](const auto& kept) { return kept->has_ended(); });
  turns_.push_back(std::move(turns));
}

void RuntimeCore::stop() {
  if (!origin_.is_current()) return;
  for (const auto& turns : turns_)
    turns->stop();
  registry_.close_all();
  datasets_.end();
  summons_ = nullptr;  // those given to I/O serve until then
  streams_.stop();
  if (node_) node_->stop();
  // Not under the lock: the agent's thread may be opening a session for another rank, and take it.
  const auto made = [this](const auto& agent) {
    const std::lock_guard lock(mutex_);
    return agent;
  };
  if (const auto direct = made(direct_)) direct->stop();
  if (const auto buffered = made(buffered_)) buffered->stop();
  buffers_->keep_nothing();
}

Result<std::shared_ptr<write::DatasetCore>> RuntimeCore::open_dataset(
    const std::string& path, const std::optional<WritePlan>& wanted) {
  if (!ranks_) return failure(located(ranks_.error(), path));
  comm::Communicator& ranks = **ranks_;
  write::OpenRequest request = dataset_request();
  request.path = absolute_path(path);
  request.wanted = wanted.value_or(WritePlan{});
  request.executor = &executor();
  const auto machine = storage_.add_to(request.facts, path);
  const auto named = write_plan_from(process_environment());
  Status mine;
  if (!machine) mine = failure(machine.error());
  if (!named) mine = failure(named.error());
  if (!request.queues) mine = failure(request.queues.error());
  if (const Status agreed = ranks.agree(mine); !agreed) return failure(agreed.error());
  const auto cores = cores_of_first_node(ranks);
  if (!cores) return failure(cores.error());
  request.facts.cores_of_node = *cores;
  request.facts.free_bytes = free_memory_bytes().value_or(0) / kStagingShare / ranks_of_node();
  if (*named && !wanted) request.wanted = **named;
  const auto summons = summons_.map([](const auto& made) { return made.get(); });
  return datasets_.open(
      {.computing = ranks, .all = *division_->computing_first, .summons = summons}, request);
}

std::uint32_t RuntimeCore::ranks_of_node() const {
  if (!ranks_) return 1;
  const comm::Nodes& nodes = (*ranks_)->nodes();
  return static_cast<std::uint32_t>(nodes.ranks_of(nodes.node_of((*ranks_)->rank())).size());
}

/// What is the same for all datasets, and for those that others open.
write::OpenRequest RuntimeCore::dataset_request() const {
  write::OpenRequest request;
  request.facts.crew = write::crew_of(*division_->computing_first, division_->computing);
  request.links = {.network = options_.network};
  request.queues = streams_.queues().map([](const auto& queues) { return queues.get(); });
  request.buffers = buffers_;
  request.log = options_.log;
  return request;
}

/// Collective: connects the first rank with those given to I/O, where there are any.
Result<std::unique_ptr<write::Summons>> RuntimeCore::connect_to_first() const {
  const bool has_others = division_ && division_->computing < division_->all->size();
  if (!has_others) return nullptr;
  auto summons = write::Summons::open(*division_->computing_first, division_->computing,
                                      {.network = options_.network});
  if (!summons)
    log(LogLevel::kWarning,
        "ranks given to I/O cannot be called to write: " + summons.error().message());
  return summons;
}

Result<std::shared_ptr<read::Agent>> RuntimeCore::copy_agent() {
  if (!buffered_) {
    auto started =
        read::CopyAgent::start(copy_threads(options_), [this] { loop_.offer_idle_work(); });
    if (!started) return failure(started.error());
    buffered_ = std::move(*started);
  }
  helps_when_idle_.store(true, std::memory_order_release);
  return buffered_;
}

Result<std::shared_ptr<read::Agent>> RuntimeCore::engine_agent(
    std::shared_ptr<read::Chores> chores) {
  if (direct_) return direct_;
  auto started = read::EngineAgent::start({.choice = backend_choice(options_.engine),
                                           .queue_depth = kAgentDepth,
                                           .worker_count = kDirectThreads,
                                           .worker_cpus = {},
                                           .log = options_.log},
                                          std::move(chores));
  if (started) direct_ = *started;
  return started;
}

/// A number that all ranks of this Runtime know, and no other Runtime has.
std::uint64_t RuntimeCore::name_together() const {
  std::random_device random;
  std::uint64_t name = std::uint64_t{random()} << 32U | random();
  // Where this fails, so does opening the first file, with the reason.
  if (division_) {
    static_cast<void>(division_->all->broadcast(std::as_writable_bytes(std::span(&name, 1)), {0}));
  }
  return name;
}

/// Ranks that cannot share read for themselves, all of them; the log says why.
void RuntimeCore::join_node() {
  if (!division_ || division_->all->size() == 1) return;
  comm::Communicator& ranks = *division_->all;
  const NodePlaces& here = division_->here;
  read::NodeLinks::Setup links{.links = link_nodes(), .nodes = {}};
  links.bulk = bulk_communicator();
  Result<std::string> name;
  if (here.agent == ranks.rank()) name = start_node_agent(here.computing, std::move(links));
  auto client = connect_to_node(name.value_or(std::string()));
  const auto joined = ranks.all_reduce(comm::Reduction::kMin, name && client ? 1 : 0);
  if (joined && *joined == 1) {
    node_ = std::move(*client);
    ranks_at_node_ = here.sharing();
    if (role() == Role::kAgent) served_ = clients_left_.get_future().share();
    return;
  }
  linked_nodes_ = 1;
  const std::string reason = !name    ? name.error().message()
                             : client ? "another rank could not share"
                                      : client.error().message();
  log(LogLevel::kWarning, "each rank reads files for itself: " + reason);
}

/// Collective: connects the agents of all nodes. Without that, each node reads for itself.
comm::Links RuntimeCore::link_nodes() {
  const std::vector<NodePlaces>& places = division_->places;
  if (places.size() == 1) return {};
  std::vector<comm::Rank> agents;
  for (const NodePlaces& node : places)
    agents.push_back(node.agent);
  std::sort(agents.begin(), agents.end());
  auto links = comm::connect_agents(*division_->all, agents, {.network = options_.network});
  if (!links) {
    log(LogLevel::kWarning, "each node reads files for itself: " + links.error().message());
    return {};
  }
  linked_nodes_ = static_cast<std::uint32_t>(places.size());
  return std::move(*links);
}

/// Collective. Null where MPI may not be called by the agents' threads.
std::shared_ptr<comm::Communicator> RuntimeCore::bulk_communicator() const {
  comm::Communicator& ranks = *division_->all;
  if (linked_nodes_ == 1 || options_.bulk == Bulk::kLinks) return nullptr;
  const bool may = ranks.thread_support() == comm::ThreadSupport::kMultiple;
  const auto all_may = ranks.all_reduce(comm::Reduction::kMin, may ? 1 : 0);
  if (!all_may || *all_may == 0) return nullptr;
  auto duplicate = ranks.duplicate();
  return duplicate ? *duplicate : nullptr;
}

Result<std::string> RuntimeCore::start_node_agent(std::uint32_t clients,
                                                  read::NodeLinks::Setup links) {
  clients_at_node_ = clients;
  auto chores = chores_of_node(clients, std::move(links));
  if (!chores) return failure(chores.error());
  const std::string name = node_agent_.lock()->name();
  const std::lock_guard lock(mutex_);
  if (auto started = engine_agent(std::move(*chores)); !started) return failure(started.error());
  return name;
}

Result<std::shared_ptr<read::Chores>> RuntimeCore::chores_of_node(std::uint32_t clients,
                                                                  read::NodeLinks::Setup links) {
  auto agent = read::NodeAgent::start(
      clients, [this](read::NodeAgent::Order order) { return open_host(std::move(order)); });
  if (!agent) return failure(agent.error());
  (*agent)->tell_when_all_left([this] { clients_left_.set_value(); });
  node_agent_ = *agent;
  if (links.links.empty()) return std::shared_ptr<read::Chores>(*agent);
  for (const auto& link : links.links)
    links.nodes.push_back(division_->all->nodes().node_of(link->peer()).number);
  auto started = read::NodeLinks::start(std::move(links));
  if (!started) return failure(started.error());
  node_links_ = *started;
  (*started)->set_sessions(
      {.open = [weak = std::weak_ptr(*agent)](
                   read::OpenRequest request) { return weak.lock()->join(std::move(request)); },
       .leave =
           [weak = std::weak_ptr(*agent)](const SessionHandle& handle) {
             if (const auto open = weak.lock()) open->leave(handle);
           }});
  auto list = read::ChoreList::of({*started, *agent});
  if (!list) return failure(list.error());
  return std::shared_ptr<read::Chores>(*list);
}

/// Collective: ranks learn the names of their agents from those who have one. Null on a rank that
/// is nothing but an agent.
Result<std::shared_ptr<read::NodeClient>> RuntimeCore::connect_to_node(
    const std::string& own_name) {
  const auto names = division_->all->all_gather(std::as_bytes(std::span(own_name)));
  if (!names) return failure(names.error());
  if (role() == Role::kAgent) return nullptr;
  const comm::Rank agent = division_->here.agent;
  const comm::Bytes& bytes = names->at(agent.number);
  const std::string name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (name.empty()) {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "connect to the agent of this node",
                    .cause = "rank " + std::to_string(agent.number) + " could not start it"});
  }
  return read::NodeClient::connect(name, std::chrono::steady_clock::now() + kJoinPatience);
}

Status RuntimeCore::check_role(const char* operation) const {
  if (Status here = check_process(operation); !here) return here;
  if (role() == Role::kCompute) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = operation,
                  .cause = "this rank only reads and writes for others (Role::kAgent): call "
                           "Runtime::serve() on it, and open files on the ranks of "
                           "Runtime::compute()"});
}

Status RuntimeCore::serve() {
  if (Status here = check_process("serve"); !here) return here;
  if (!division_) return failure(division_.error());
  if (role() == Role::kCompute) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "serve",
                    .cause = "this rank computes (Role::kCompute): only ranks whose "
                             "Runtime::role() is Role::kAgent serve"});
  }
  const Status served = summons_ && *summons_ ? serve_datasets(**summons_) : Status();
  if (served_.valid()) served_.wait();
  return served;
}

/// Until the first rank has ended: without it nothing is opened any more.
Status RuntimeCore::serve_datasets(write::Summons& summons) {
  while (const auto told = summons.next()) {
    auto decision = write::decision_from(*told);
    if (!decision) return failure(decision.error());
    // The ranks that open it receive what goes wrong.
    std::ignore =
        datasets_.join(*division_->computing_first, std::move(*decision), dataset_request());
  }
  datasets_.wait_for_joined();
  return {};
}

/// How the file of a session is read here: as the rank found that asks for it, or as this node
/// finds if another node asks.
Result<Way> RuntimeCore::way_of(const read::NodeAgent::Order& order) const {
  const read::OpenRequest& request = order.request;
  if (!request.access) {
    auto file = storage::open_file(request.path);
    if (!file) return failure(file.error());
    return choose_way(std::move(*file), {request.extent, request.plan.access}, storage_);
  }
  if (!order.file) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "open a read session",
                    .path = request.path,
                    .cause = "the file did not reach the agent of this node, which has no "
                             "descriptors left"});
  }
  auto file = storage::open_descriptor(order.file.get(), request.path, {.access = *request.access});
  if (!file) return failure(file.error());
  return Way{.file = std::move(*file), .access = *request.access, .reason = request.access_reason};
}

/// Null if all of the session is read by this node.
std::shared_ptr<read::RemoteReader> RuntimeCore::remote_of(
    const read::OpenRequest& request,
    const ReadPlan& plan,
    const std::shared_ptr<read::Agent>& agent) const {
  const auto links = node_links_.lock();
  if (!links || plan.agent_nodes.empty()) return nullptr;
  return links->reader(request, {plan.agent_nodes, plan.agent_stripe_bytes}, agent);
}

/// On the agent's thread: a session for clients.
Result<read::NodeAgent::Hosted> RuntimeCore::open_host(read::NodeAgent::Order order) {
  const read::OpenRequest& request = order.request;
  auto way = way_of(order);
  if (!way) return failure(way.error());
  // What comes from other nodes is like a device, whatever holds it there.
  const bool is_shared_out = linked_nodes_ > 1 && !request.plan.agent_nodes.empty();
  const Access like = is_shared_out ? Access::kDirect : way->access;
  auto agent = agent_for(like);
  if (!agent) return failure(agent.error());
  const auto turn = take_turn();
  ReadFacts facts{.extent = request.extent,
                  .access = like,
                  .access_reason = way->reason,
                  .alignment_bytes = way->file->alignment_bytes(),
                  .available_bytes = windows_->available_bytes(),
                  .total_bytes = windows_->budget_bytes(),
                  .ranks_at_node = division_->here.sharing(),
                  .linked_nodes = linked_nodes_};
  if (auto known = storage_.add_to(facts, *way->file); !known) return failure(known.error());
  auto plan = plan_shared(facts, request.plan);
  if (!plan) return failure(plan.error());
  plan->access = way->access;
  auto remote = remote_of(request, *plan, *agent);
  auto host = read::SessionHost::open({.file = std::move(way->file),
                                       .extent = request.extent,
                                       .plan = std::move(*plan),
                                       .windows = windows_,
                                       .agent = *agent,
                                       .executor = &loop_,
                                       .handle = request.handle,
                                       .make_books = std::move(order.make_books),
                                       .clients = clients_at_node_ + 1,
                                       .remote = std::move(remote)});
  if (!host) return failure(host.error());
  (*agent)->serve(*host);
  // Who joins is told what it would be told if it were the first: by the facts of that moment, as
  // the memory that the session has now is missing from those of this one.
  return read::NodeAgent::Hosted{.host = std::move(*host),
                                 .check_plan = [facts](const ReadPlan& other) -> Status {
                                   const auto checked = plan_shared(facts, other);
                                   if (checked) return {};
                                   return failure(checked.error());
                                 }};
}

}  // namespace forebay
