// SPDX-License-Identifier: Apache-2.0
// Files and sessions as the public API opens them: checks the arguments, chooses access and agent,
// and creates the session.
#include <forebay/runtime.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "read/mapped_session.hpp"
#include "read/plan.hpp"
#include "read/requests.hpp"
#include "runtime/access_method.hpp"
#include "runtime/open_local_session.hpp"
#include "runtime/open_tuned_session.hpp"
#include "runtime/runtime_access.hpp"
#include "runtime/runtime_core.hpp"
#include "storage/file.hpp"

namespace forebay {

struct File::OpenState {
  std::string path;
  std::uint64_t size_bytes = 0;
  std::shared_ptr<storage::File> buffered;
  std::shared_ptr<PreparedFile> prepared;  ///< its first session is taken from here
};

File::File(std::shared_ptr<RuntimeCore> runtime, std::shared_ptr<const OpenState> opened)
    : runtime_(std::move(runtime)), opened_(std::move(opened)) {}

const std::string& File::path() const noexcept { return opened_->path; }

std::uint64_t File::size() const noexcept { return opened_->size_bytes; }

namespace {

Result<ByteRange> check_extent(const std::string& path, std::uint64_t size_bytes, Extent extent) {
  const bool to_the_end = extent.size == kAll;
  if (to_the_end && extent.offset <= size_bytes) extent.size = size_bytes - extent.offset;
  const ByteRange range{extent.offset, extent.size};
  if (ByteRange{0, size_bytes}.contains(range)) return range;
  return failure({.kind = ErrorClass::kOutOfRange,
                  .operation = "open a read session",
                  .path = path,
                  .offset_bytes = extent.offset,
                  .cause = (to_the_end ? std::string("the session begins")
                                       : std::to_string(extent.size) + " bytes from here reach") +
                           " past the end of the file, which has " + std::to_string(size_bytes) +
                           " bytes"});
}

/// Collective: all ranks have opened the same file, or get the same Error.
Status agree_on_size(const Result<std::shared_ptr<comm::Communicator>>& ranks,
                     const std::string& path,
                     const Result<std::uint64_t>& size) {
  if (!ranks) return failure(with_location(ranks.error(), path));
  comm::Communicator& all_ranks = **ranks;
  const Status mine = size ? Status() : Status(tl::unexpect, size.error());
  if (all_ranks.size() == 1) return mine;
  if (const Status agreed = all_ranks.agree(mine); !agreed) return agreed;
  const auto least = all_ranks.all_reduce(comm::Reduction::kMin, *size);
  const auto most = all_ranks.all_reduce(comm::Reduction::kMax, *size);
  if (!least || !most) return failure((least ? most : least).error());
  if (*least == *most) return {};
  return failure(
      {.kind = ErrorClass::kInvalidArgument,
       .operation = "open",
       .path = path,
       .cause = "ranks see sizes from " + std::to_string(*least) + " to " + std::to_string(*most) +
                " bytes; open the same file on all ranks, and no file that is being written"});
}

Session register_session(RuntimeCore& runtime, const SessionPtr& core) {
  Session session = read::HandleAccess::make_session(core);
  runtime.registry().add(core, session);
  return session;
}

/// A session that the agent of this node reads. The first rank of the node that requests it opens
/// it there.
Result<SessionPtr> join_session(RuntimeCore& runtime,
                                AccessMethod method,
                                const SessionRequest& request) {
  const auto fallback_agent = [&runtime, access = method.access] {
    return runtime.agent_for(access);
  };
  return runtime.node_client()
      ->open({.file = std::move(method.file),
              .extent = request.extent,
              .plan = request.plan,
              .executor = &runtime.executor(),
              .handle = request.handle,
              .connection = nullptr,
              .fallback_agent = fallback_agent,
              .access = method.access,
              .access_reason = method.reason})
      .map([](std::shared_ptr<read::MappedSession> session) { return SessionPtr(session); });
}

/// Creates the session as the plan requests. If the node's agent has ended, this rank reads for its
/// own use.
Result<SessionPtr> make_session(RuntimeCore& runtime,
                                const AccessMethod& method,
                                const SessionRequest& request) {
  const ReadFacts facts{.extent = request.extent,
                        .access = method.access,
                        .ranks_on_node = runtime.ranks_on_node(),
                        .linked_nodes = runtime.linked_nodes()};
  if (choose_agent_scope(facts, request.plan) == AgentScope::kPerRank)
    return open_local_session(runtime, method, request);
  auto joined = join_session(runtime, method, request);
  const bool has_lost_agent = !joined && joined.error().kind() == ErrorClass::kClosed;
  return has_lost_agent ? open_local_session(runtime, method, request) : joined;
}

}  // namespace

Result<Session> File::read_session(Extent extent, const ReadPlan& plan) const {
  if (const Status process_status = runtime_->check_process("open a read session", path());
      !process_status)
    return failure(process_status.error());
  const SessionHandle handle = runtime_->registry().next_handle();
  // Plans, agents and windows have no file names; their Errors get the location here.
  auto session = open_session(extent, plan, handle).map_error([&](const Error& error) {
    return with_location(error, path(), extent.offset);
  });
  if (session) runtime_->log_plan(path(), session->plan());
  return session;
}

Result<Session> File::open_session(Extent requested,
                                   const ReadPlan& plan,
                                   const SessionHandle& handle) const {
  const auto checked = check_extent(path(), size(), requested);
  const ByteRange extent = checked.value_or(ByteRange());
  const bool is_in_series = checked && plan.mode == Mode::kOnDemand &&
                            extent == ByteRange{0, size()} && runtime_->series();
  // The file may have changed since open_file().
  if (is_in_series && opened_->prepared && opened_->prepared->version() == version_of(path())) {
    if (SessionPtr core = opened_->prepared->take(plan)) {
      runtime_->series()->record(path(), plan, core);
      return register_session(*runtime_, core);
    }
  }
  const auto method = checked.and_then([&](const ByteRange&) -> Result<AccessMethod> {
    if (const Status& known = runtime_->foresight_status(); !known) return failure(known.error());
    return choose_access_method(opened_->buffered, {extent, plan.access, plan.mode},
                                runtime_->storage());
  });
  auto core = open_tuned_session(*runtime_, method, {extent, plan, handle}, make_session);
  if (!core) return failure(core.error());
  runtime_->observe(*core);
  if (is_in_series) runtime_->series()->record(path(), plan, *core);
  return register_session(*runtime_, *core);
}

Runtime::Runtime(RuntimeOptions options) : Runtime(Ranks(), std::move(options)) {}

Runtime::Runtime(const Ranks& ranks, RuntimeOptions options)
    : core_(new RuntimeCore(std::move(options), ranks), detail::OriginDeleter()) {}

Runtime::~Runtime() { core_->stop(); }

Result<File> Runtime::open_file(const std::string& path) {
  if (const Status role_status = core_->check_role("open"); !role_status)
    return failure(with_location(role_status.error(), path));
  auto opened = std::make_shared<File::OpenState>();
  opened->path = path;
  const Result<std::uint64_t> size = [&]() -> Result<std::uint64_t> {
    if (core_->series()) opened->prepared = core_->series()->take(path);
    if (opened->prepared) {
      opened->buffered = opened->prepared->buffered();
      return opened->prepared->version().size_bytes;
    }
    auto file = storage::open_file(path);
    if (!file) return failure(file.error());
    opened->buffered = std::move(*file);
    return opened->buffered->size();
  }();
  if (const Status agreed = agree_on_size(core_->ranks(), path, size); !agreed)
    return failure(agreed.error());
  opened->size_bytes = *size;
  return File(core_, std::move(opened));
}

Result<Buffer> Runtime::allocate(std::uint64_t size_bytes, MemoryKind kind) {
  if (const Status process_status = core_->check_process("allocate"); !process_status)
    return failure(process_status.error());
  return core_->buffers().allocate(size_bytes, kind);
}

Result<OutputStream> Runtime::create_output_stream(const StreamPlan& plan) {
  if (const Status role_status = core_->check_role("create an output stream"); !role_status)
    return failure(role_status.error());
  return core_->streams().open(plan, core_->executor());
}

Result<DatasetWriter> Runtime::create_dataset(const std::string& path,
                                              const DatasetOptions& options) {
  return RuntimeAccess::create_dataset(*this, path, options);
}

Status Runtime::register_next_reads(std::string name, NextReadFactory factory) {
  if (const Status here = core_->check_process("register a function"); !here) return here;
  return core_->functions().add(std::move(name), std::move(factory));
}

Result<Session> Runtime::find_session(const SessionHandle& handle) const {
  if (const Status role_status = core_->check_role("find a session"); !role_status)
    return failure(role_status.error());
  return core_->registry().find(handle);
}

std::uint32_t Runtime::rank() const noexcept {
  return core_->ranks() ? (*core_->ranks())->rank().number : 0;
}

std::uint32_t Runtime::rank_count() const noexcept {
  return core_->ranks() ? (*core_->ranks())->size() : 1;
}

Role Runtime::role() const noexcept { return core_->role(); }

Ranks Runtime::compute_ranks() const { return core_->compute_ranks(); }

Status Runtime::serve() { return core_->serve(); }

EventLoop& Runtime::event_loop() noexcept { return core_->event_loop(); }

}  // namespace forebay
