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
#include "read/local_session.hpp"
#include "read/plan.hpp"
#include "runtime/cores.hpp"
#include "runtime/open_local_session.hpp"
#include "runtime/options.hpp"
#include "storage/file.hpp"

namespace forebay {

namespace {

/// Operations in flight of one agent, for all sessions.
constexpr std::size_t kAgentDepth = 64;
/// Threads that keep a device busy without io_uring: one for each request in flight.
constexpr std::size_t kDirectThreads = 16;
/// Copies from the page cache are bound by memory: more threads only take cores from the
/// application.
constexpr unsigned kDefaultCopyThreadsMax = 4;
/// By default the ranks of a node use 1 / this of the free memory for staging.
constexpr std::uint64_t kStagingShare = 4;
/// For the agent of the own node, when a Runtime is created.
constexpr std::chrono::seconds kConnectTimeout{20};

/// The number of this rank; no value if it is the only one.
std::optional<std::uint32_t> number_among(
    const Result<std::shared_ptr<comm::Communicator>>& ranks) {
  if (!ranks || (*ranks)->size() == 1) return std::nullopt;
  return (*ranks)->rank().number;
}

unsigned copy_threads(const RuntimeOptions& options) {
  if (options.tuning.copy_threads != 0) return options.tuning.copy_threads;
  return std::clamp(std::thread::hardware_concurrency() / 2, 1U, kDefaultCopyThreadsMax);
}

}  // namespace

RuntimeCore::RuntimeCore(RuntimeOptions options, const Ranks& ranks)
    : options_(std::move(options)),
      storage_(options_.machine),
      rank_split_(split_ranks(ranks, options_.placement)),
      ranks_(rank_split_.map([](const RankSplit& rank_split) { return rank_split.role_ranks; })),
      windows_(std::make_shared<read::WindowPool>(
          affordable_budget(options_.budget_bytes, free_memory_bytes(), ranks_of_node()))),
      buffers_(shm::BufferAllocator::make(options_.tuning.buffer_cache_bytes / ranks_of_node())),
      registry_(agree_on_id()),
      foresight_(options_, number_among(ranks_), role()),
      streams_({.choice = options_.tuning.backend,
                .copy_threads = options_.tuning.copy_threads,
                .write_thread_affinity = options_.tuning.write_thread_affinity,
                .profile = options_.tuning.profile,
                .log = options_.log,
                .storage = &storage_,
                .on_written = [this](const storage::FileIdentity& file, ByteRange range) {
                  registry_.invalidate(file, range);
                }}) {
  raise_descriptor_limit();
  if (!set_service_processors(options_.tuning.cores))
    log(LogLevel::kWarning,
        "this process may use none of the processors that the setting cores names");
  // A thread that waits for a copy from the page cache may copy as well.
  loop_.set_idle_work([this] {
    return is_idle_copy_enabled_.load(std::memory_order_acquire) && copy_agent_->help();
  });
  const bool is_placement_met = options_.placement == Placement::kInRank || !rank_split_ ||
                                rank_split_->own_node.agent_role == Role::kIo;
  if (!is_placement_met) log(LogLevel::kWarning, "no I/O rank on this node: it has only one rank");
  connect_node();
  if (ranks_ && (*ranks_)->size() == 1 && !node_client_) {
    series_ =
        std::make_unique<FileSeries>([this](const std::string& path, const ReadPlan& requested) {
          return prepare_file(*this, path, requested);
        });
  }
  io_rank_notifier_ = connect_io_ranks();
}

Result<std::shared_ptr<read::ReadAgent>> RuntimeCore::agent_for(Access access, Mode mode) {
  const std::lock_guard lock(mutex_);
  return access == Access::kBuffered && mode == Mode::kDeclared ? copy_agent() : engine_agent();
}

void RuntimeCore::observe(const std::shared_ptr<read::SessionCore>& core) {
  if (core->plan().mode == Mode::kOnDemand)
    registry_.add_file(storage::identity_of(core->file()), core);
  foresight_.observe(*core);
}

void RuntimeCore::log(LogLevel level, const std::string& text) const {
  if (options_.log != nullptr) options_.log->write(level, text);
}

void RuntimeCore::log_plan(const std::string& path, const ReadPlan& plan) const {
  const std::string access(name_of(*plan.access));
  const bool has_access = plan.reason.starts_with(access);  // as in "direct: a long read"
  log(LogLevel::kInfo, path + ": " + (has_access ? "" : access + ": ") + plan.reason);
}

void RuntimeCore::retain(std::shared_ptr<comm::ConcurrencyLimiter> limiter) {
  const std::lock_guard lock(mutex_);
  std::erase_if(limiters_, [](const auto& kept) { return kept->has_ended(); });
  limiters_.push_back(std::move(limiter));
}

void RuntimeCore::stop() {
  if (!origin_.is_current()) return;
  for (const auto& limiter : limiters_)
    limiter->stop();
  if (series_) series_->stop();
  registry_.close_all();
  if (const Status recorded = foresight_.stop(); !recorded)
    log(LogLevel::kWarning, "foresight: " + recorded.error().message());
  if (const std::uint64_t lost = foresight_.lost_records(); lost > 0)
    log(LogLevel::kWarning, "the trace lacks " + std::to_string(lost) +
                                " reads, which came faster than they were written");
  dataset_writers_.stop();
  io_rank_notifier_ = nullptr;  // ends serve() on I/O ranks
  streams_.stop();
  if (node_client_) node_client_->stop();
  // stop() runs outside the lock: the agent's thread takes it to open a session for another rank.
  const auto made = [this](const auto& agent) {
    const std::lock_guard lock(mutex_);
    return agent;
  };
  if (const auto direct = made(engine_agent_)) direct->stop();
  if (const auto buffered = made(copy_agent_)) buffered->stop();
  functions().stop();
  buffers_->disable_cache();
}

Result<std::shared_ptr<write::DatasetWriterCore>> RuntimeCore::create_dataset(
    const std::string& path,
    const Result<DatasetOptions>& given,
    std::shared_ptr<write::PlanChooser> plan_chooser) {
  if (!ranks_) return failure(with_location(ranks_.error(), path));
  comm::Communicator& ranks = **ranks_;
  const DatasetOptions options = given.value_or(DatasetOptions{});
  write::OpenRequest request = make_dataset_request();
  request.path = absolute_path(path);
  request.existing = options.existing;
  request.requested_plan = options.plan.value_or(WritePlan{});
  request.executor = &executor();
  request.plan_chooser = std::move(plan_chooser);
  const auto machine = storage_.add_facts(request.facts, path);
  const auto named = write_plan_from_environment();
  const bool is_first = ranks.rank() == comm::Rank{0};
  auto tuning = is_first ? write::read_tuning_request(options, process_environment())
                         : Result<write::TuningRequest>(write::TuningRequest{});
  Status mine;
  if (!tuning) mine = failure(tuning.error());
  if (!machine) mine = failure(machine.error());
  if (!named) mine = failure(named.error());
  if (!request.queues) mine = failure(request.queues.error());
  if (!given) mine = failure(given.error());
  if (const Status agreed = ranks.agree(mine); !agreed) return failure(agreed.error());
  auto cores = count_node_cores(ranks);
  if (!cores) return failure(cores.error());
  request.facts.cores_of_node = std::move(*cores);
  request.facts.free_share_bytes =
      free_memory_bytes().value_or(0) / kStagingShare / ranks_of_node();
  if (*named && !options.plan) request.requested_plan = **named;
  request.tuning = std::move(*tuning);
  const auto notifier = io_rank_notifier_.map([](const auto& made) { return made.get(); });
  return dataset_writers_.open(
      {.compute = ranks, .all_ranks = *rank_split_->compute_first, .io_rank_notifier = notifier},
      std::move(request));
}

std::uint32_t RuntimeCore::ranks_of_node() const {
  if (!ranks_) return 1;
  const comm::Nodes& nodes = (*ranks_)->nodes();
  return static_cast<std::uint32_t>(nodes.ranks_of(nodes.node_of((*ranks_)->rank())).size());
}

/// The values that are the same for all datasets, including those that other ranks open.
write::OpenRequest RuntimeCore::make_dataset_request() const {
  write::OpenRequest request;
  request.facts.rank_layout =
      write::rank_layout_of(*rank_split_->compute_first, rank_split_->compute_rank_count);
  request.links = {.network = options_.network};
  request.queues = streams_.queues().map([](const auto& queues) { return queues.get(); });
  request.buffers = buffers_;
  request.log = options_.log;
  return request;
}

/// Collective: connects the first rank with the I/O ranks, if there are any.
Result<std::unique_ptr<write::IoRankNotifier>> RuntimeCore::connect_io_ranks() const {
  const bool has_others =
      rank_split_ && rank_split_->compute_rank_count < rank_split_->all_ranks->size();
  if (!has_others) return nullptr;
  auto notifier = write::IoRankNotifier::open(
      *rank_split_->compute_first, rank_split_->compute_rank_count, {.network = options_.network});
  if (!notifier)
    log(LogLevel::kWarning,
        "I/O ranks cannot be notified of datasets: " + notifier.error().message());
  return notifier;
}

Result<std::shared_ptr<read::ReadAgent>> RuntimeCore::copy_agent() {
  if (!copy_agent_) {
    auto started =
        read::CopyAgent::start(copy_threads(options_), [this] { loop_.notify_idle_work(); });
    if (!started) return failure(started.error());
    copy_agent_ = std::move(*started);
  }
  is_idle_copy_enabled_.store(true, std::memory_order_release);
  return copy_agent_;
}

Result<std::shared_ptr<read::ReadAgent>> RuntimeCore::engine_agent(
    std::shared_ptr<read::EventSource> event_source) {
  if (engine_agent_) return engine_agent_;
  auto started = read::EngineAgent::start({.choice = options_.tuning.backend,
                                           .queue_depth = kAgentDepth,
                                           .worker_count = kDirectThreads,
                                           .worker_cpus = {},
                                           .log = options_.log},
                                          std::move(event_source));
  if (started) engine_agent_ = *started;
  return started;
}

/// A number that all ranks of this Runtime share, and no other Runtime has.
std::uint64_t RuntimeCore::agree_on_id() const {
  std::random_device random;
  std::uint64_t name = std::uint64_t{random()} << 32U | random();
  // If this fails, opening the first file fails, too, and reports the cause.
  if (rank_split_) {
    static_cast<void>(
        rank_split_->all_ranks->broadcast(std::as_writable_bytes(std::span(&name, 1)), {0}));
  }
  return name;
}

/// If ranks cannot share, all of them read for themselves, and the log has the cause.
void RuntimeCore::connect_node() {
  if (!rank_split_ || rank_split_->all_ranks->size() == 1) return;
  comm::Communicator& ranks = *rank_split_->all_ranks;
  const NodeRoles& here = rank_split_->own_node;
  read::NodeLinks::Setup links{.links = connect_nodes(), .nodes = {}};
  links.own_node = ranks.nodes().node_of(ranks.rank()).number;
  links.bulk = bulk_communicator();
  Result<std::string> name;
  if (here.agent == ranks.rank())
    name = start_node_server(here.compute_rank_count, std::move(links));
  auto client = connect_to_agent(name.value_or(std::string()));
  const auto joined = ranks.all_reduce(comm::Reduction::kMin, name && client ? 1 : 0);
  if (joined && *joined == 1) {
    node_client_ = std::move(*client);
    ranks_on_node_ = here.sharing_ranks();
    if (role() == Role::kIo) served_ = clients_left_.get_future().share();
    return;
  }
  linked_nodes_ = 1;
  const std::string reason = !name    ? name.error().message()
                             : client ? "another rank could not connect"
                                      : client.error().message();
  log(LogLevel::kWarning, "each rank reads files for itself: " + reason);
}

/// Collective: connects the agents of all nodes. If that fails, each node reads for itself.
comm::Links RuntimeCore::connect_nodes() {
  const std::vector<NodeRoles>& roles = rank_split_->node_roles;
  if (roles.size() == 1) return {};
  std::vector<comm::Rank> agents;
  for (const NodeRoles& node : roles)
    agents.push_back(node.agent);
  std::sort(agents.begin(), agents.end());
  auto links = comm::connect_agents(*rank_split_->all_ranks, agents, {.network = options_.network});
  if (!links) {
    log(LogLevel::kWarning, "each node reads files for itself: " + links.error().message());
    return {};
  }
  linked_nodes_ = static_cast<std::uint32_t>(roles.size());
  return std::move(*links);
}

/// Collective. Null if the agents' threads may not call MPI.
std::shared_ptr<comm::Communicator> RuntimeCore::bulk_communicator() const {
  comm::Communicator& ranks = *rank_split_->all_ranks;
  if (linked_nodes_ == 1 || options_.tuning.bulk_transport == BulkTransport::kTcp) return nullptr;
  const bool may = ranks.thread_support() == comm::ThreadSupport::kMultiple;
  const auto all_support = ranks.all_reduce(comm::Reduction::kMin, may ? 1 : 0);
  if (!all_support || *all_support == 0) return nullptr;
  auto duplicate = ranks.duplicate();
  return duplicate ? *duplicate : nullptr;
}

Result<std::string> RuntimeCore::start_node_server(std::uint32_t clients,
                                                   read::NodeLinks::Setup links) {
  clients_at_node_ = clients;
  auto event_source = make_event_source(clients, std::move(links));
  if (!event_source) return failure(event_source.error());
  const std::string name = node_server_.lock()->name();
  const std::lock_guard lock(mutex_);
  if (auto started = engine_agent(std::move(*event_source)); !started)
    return failure(started.error());
  return name;
}

Result<std::shared_ptr<read::EventSource>> RuntimeCore::make_event_source(
    std::uint32_t clients, read::NodeLinks::Setup links) {
  auto agent = read::NodeServer::start(clients, [this](read::NodeServer::OpenArgs args) {
    return open_served_session(std::move(args));
  });
  if (!agent) return failure(agent.error());
  (*agent)->set_on_all_clients_ended([this] { clients_left_.set_value(); });
  (*agent)->set_function_starter(
      [functions = foresight_.functions()](read::NodeServer::FunctionCall call) {
        return functions->start(std::move(call));
      });
  node_server_ = *agent;
  if (links.links.empty()) return std::shared_ptr<read::EventSource>(*agent);
  for (const auto& link : links.links)
    links.nodes.push_back(rank_split_->all_ranks->nodes().node_of(link->peer()).number);
  auto started = read::NodeLinks::start(std::move(links));
  if (!started) return failure(started.error());
  node_links_ = *started;
  (*started)->set_session_callbacks(
      {.open =
           [weak = std::weak_ptr(*agent)](read::OpenSessionRequest request) {
             return weak.lock()->open_session(std::move(request));
           },
       .close =
           [weak = std::weak_ptr(*agent)](const SessionHandle& handle) {
             if (const auto open = weak.lock()) open->close_session(handle);
           },
       .invalidate =
           [weak = std::weak_ptr(*agent)](const SessionHandle& handle, ByteRange range) {
             if (const auto open = weak.lock()) open->invalidate(handle, range);
           }});
  (*agent)->set_on_invalidated([links = node_links_](const SessionHandle& handle, ByteRange range) {
    if (const auto open = links.lock()) open->invalidate(handle, range);
  });
  auto list = read::EventSourceSet::create({*started, *agent});
  if (!list) return failure(list.error());
  return std::shared_ptr<read::EventSource>(*list);
}

/// Collective: ranks receive the names of their agents. Null on an I/O rank.
Result<std::shared_ptr<read::NodeClient>> RuntimeCore::connect_to_agent(
    const std::string& agent_name) {
  const auto names = rank_split_->all_ranks->all_gather(std::as_bytes(std::span(agent_name)));
  if (!names) return failure(names.error());
  if (role() == Role::kIo) return nullptr;
  const comm::Rank agent = rank_split_->own_node.agent;
  const comm::Bytes& bytes = names->at(agent.number);
  const std::string name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (name.empty()) {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "connect to the agent of this node",
                    .cause = "rank " + std::to_string(agent.number) + " could not start it"});
  }
  return read::NodeClient::connect(name, std::chrono::steady_clock::now() + kConnectTimeout);
}

Status RuntimeCore::check_role(const char* operation) const {
  if (Status here = check_process(operation); !here) return here;
  if (role() == Role::kCompute) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = operation,
                  .cause =
                      "this is an I/O rank; call serve() on it, and all other functions on the "
                      "compute ranks"});
}

Status RuntimeCore::serve() {
  if (Status here = check_process("serve"); !here) return here;
  if (!rank_split_) return failure(rank_split_.error());
  if (role() == Role::kCompute) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "serve",
                    .cause = "this is a compute rank; call serve() on the I/O ranks only"});
  }
  const Status served =
      io_rank_notifier_ && *io_rank_notifier_ ? serve_datasets(**io_rank_notifier_) : Status();
  if (served_.valid()) served_.wait();
  return served;
}

/// Serves until the first rank has ended: only that rank opens datasets.
Status RuntimeCore::serve_datasets(write::IoRankNotifier& notifier) {
  while (const auto notification = notifier.wait_for_notification()) {
    auto decision = write::decision_from_bytes(*notification);
    if (!decision) return failure(decision.error());
    // The ranks that open it receive the Error.
    std::ignore = dataset_writers_.join(*rank_split_->compute_first, std::move(*decision),
                                        make_dataset_request());
  }
  dataset_writers_.wait_for_served();
  return {};
}

/// The access of a session's file on this node: as chosen by the rank of this node that requests
/// it, or chosen here if another node requests it.
Result<AccessMethod> RuntimeCore::access_method_for(const read::NodeServer::OpenArgs& args) const {
  const read::OpenSessionRequest& request = args.request;
  if (!request.access) {
    auto file = storage::open_file(request.path);
    if (!file) return failure(file.error());
    return choose_access_method(std::move(*file),
                                {request.extent, request.plan.access, request.plan.mode}, storage_);
  }
  if (!args.file) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "open a read session",
                    .path = request.path,
                    .cause = "the file did not reach the agent of this node, which has no "
                             "free descriptors; raise the limit of open files (ulimit -n)"});
  }
  auto file = storage::open_descriptor(args.file.get(), request.path, {.access = *request.access});
  if (!file) return failure(file.error());
  return AccessMethod{
      .file = std::move(*file), .access = *request.access, .reason = request.access_reason};
}

/// Null if this node reads the whole session.
std::shared_ptr<read::RemoteReader> RuntimeCore::make_remote_reader(
    const read::OpenSessionRequest& request,
    const ReadPlan& plan,
    const std::shared_ptr<read::ReadAgent>& agent) const {
  const auto links = node_links_.lock();
  if (!links || plan.tuning.agent_nodes.empty()) return nullptr;
  return links->create_reader(request, {plan.tuning.agent_nodes, plan.tuning.agent_stripe_bytes},
                              agent);
}

/// On the agent's thread: opens a session for clients.
Result<read::NodeServer::ServedSession> RuntimeCore::open_served_session(
    read::NodeServer::OpenArgs args) {
  const read::OpenSessionRequest& request = args.request;
  auto method = access_method_for(args);
  if (!method) return failure(method.error());
  // Bytes from other nodes count as bytes from a device, wherever they are stored there.
  const bool is_shared_out = linked_nodes_ > 1 && !request.plan.tuning.agent_nodes.empty();
  const Access like = is_shared_out ? Access::kDirect : method->access;
  auto agent = agent_for(like, request.plan.mode);
  if (!agent) return failure(agent.error());
  const auto lock = lock_opening();
  ReadFacts facts{.extent = request.extent,
                  .access = like,
                  .access_reason = method->reason,
                  .alignment_bytes = method->file->alignment_bytes(),
                  .available_bytes = windows_->available_bytes(),
                  .total_bytes = windows_->budget_bytes(),
                  .ranks_on_node = rank_split_->own_node.sharing_ranks(),
                  .linked_nodes = linked_nodes_};
  if (auto known = storage_.add_facts(facts, *method->file); !known) return failure(known.error());
  auto plan = plan_with_access(facts, request.plan);
  if (!plan) return failure(plan.error());
  plan->access = method->access;
  auto remote = make_remote_reader(request, *plan, *agent);
  auto host =
      read::LocalSession::open({.file = std::move(method->file),
                                .extent = request.extent,
                                .plan = std::move(*plan),
                                .windows = windows_,
                                .agent = *agent,
                                .executor = &loop_,
                                .handle = request.handle,
                                .create_control_block = std::move(args.create_control_block),
                                .clients = clients_at_node_ + 1,
                                .remote_reader = std::move(remote)});
  if (!host) return failure(host.error());
  (*agent)->notify(*host);
  // A rank that joins later gets the same result as if it were the first. Its plan is checked
  // against the facts of that moment: current facts lack the memory that this session has taken.
  return read::NodeServer::ServedSession{.session = std::move(*host),
                                         .check_plan = [facts](const ReadPlan& other) -> Status {
                                           const auto checked = plan_with_access(facts, other);
                                           if (checked) return {};
                                           return failure(checked.error());
                                         }};
}

}  // namespace forebay
