// SPDX-License-Identifier: Apache-2.0
// Files and sessions as a user opens them: checks what is asked for, decides how the file is read
// and by whom, and makes the session.
#include <forebay/runtime.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "read/guest.hpp"
#include "runtime/own_session.hpp"
#include "runtime/runtime_core.hpp"
#include "runtime/way.hpp"
#include "storage/file.hpp"

namespace forebay {

struct File::Opened {
  std::string path;
  std::uint64_t size_bytes = 0;
  std::shared_ptr<storage::File> buffered;
};

File::File(std::shared_ptr<RuntimeCore> runtime, std::shared_ptr<const Opened> opened)
    : runtime_(std::move(runtime)), opened_(std::move(opened)) {}

const std::string& File::path() const noexcept { return opened_->path; }

std::uint64_t File::size() const noexcept { return opened_->size_bytes; }

namespace {

Result<ByteRange> check_extent(const std::string& path, std::uint64_t size_bytes, Extent extent) {
  const bool to_the_end = extent.size == all;
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

/// The same file everywhere, or the same Error.
Status agree_on_size(const Result<std::shared_ptr<comm::Communicator>>& ranks,
                     const std::string& path,
                     const Result<std::uint64_t>& size) {
  if (!ranks) return failure(located(ranks.error(), path));
  comm::Communicator& all_ranks = **ranks;
  const Status mine = size ? Status() : Status(tl::unexpect, size.error());
  if (all_ranks.size() == 1) return mine;
  if (const Status agreed = all_ranks.agree(mine); !agreed) return agreed;
  const auto least = all_ranks.all_reduce(comm::Reduction::kMin, *size);
  const auto most = all_ranks.all_reduce(comm::Reduction::kMax, *size);
  if (!least || !most) return failure((least ? most : least).error());
  if (*least == *most) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "open",
                  .path = path,
                  .cause = "ranks see sizes from " + std::to_string(*least) + " to " +
                           std::to_string(*most) +
                           " bytes: it is not one file, or somebody is writing it"});
}

/// A session that the agent of this node reads; the first rank that comes has it opened there.
Result<SharedSession> join_session(RuntimeCore& runtime, Way way, const SessionRequest& request) {
  const auto own_agent = [&runtime, access = way.access] { return runtime.agent_for(access); };
  return runtime.node()
      ->open({.file = std::move(way.file),
              .extent = request.extent,
              .plan = request.plan,
              .executor = &runtime.executor(),
              .handle = request.handle,
              .line = nullptr,
              .own_agent = own_agent,
              .access = way.access,
              .access_reason = way.reason})
      .map([](std::shared_ptr<read::SessionGuest> guest) { return SharedSession(guest); });
}

/// As the plan says; if the node's agent has ended, this rank reads for itself.
Result<SharedSession> make_session(RuntimeCore& runtime,
                                   const Way& way,
                                   const SessionRequest& request) {
  const ReadFacts facts{.extent = request.extent,
                        .access = way.access,
                        .ranks_at_node = runtime.ranks_at_node(),
                        .linked_nodes = runtime.linked_nodes()};
  if (choose_agents(facts, request.plan) == Agents::kPerRank)
    return own_session(runtime, way, request);
  auto joined = join_session(runtime, way, request);
  const bool is_left_alone = !joined && joined.error().kind() == ErrorClass::kClosed;
  return is_left_alone ? own_session(runtime, way, request) : joined;
}

}  // namespace

Result<Session> File::read_session(Extent extent, const ReadPlan& plan) const {
  if (const Status here = runtime_->check_process("open a read session", path()); !here)
    return failure(here.error());
  const SessionHandle handle = runtime_->registry().next();
  const auto checked = check_extent(path(), size(), extent);
  if (!checked) return failure(checked.error());
  // Plans, agents and windows know nothing of files: what they refuse gets its place here.
  auto session = open_session(*checked, plan, handle).map_error([&](const Error& error) {
    return located(error, path(), checked->offset);
  });
  if (session) runtime_->tell_of(path(), session->plan());
  return session;
}

Result<Session> File::open_session(ByteRange extent,
                                   const ReadPlan& plan,
                                   const SessionHandle& handle) const {
  auto way = choose_way(opened_->buffered, {extent, plan.access}, runtime_->storage());
  if (!way) return failure(way.error());
  auto core = make_session(*runtime_, *way, {extent, plan, handle});
  if (!core) return failure(core.error());
  Session session(*core);
  runtime_->registry().enlist(*core, session);
  return session;
}

Runtime::Runtime(RuntimeOptions options) : Runtime(Ranks(), std::move(options)) {}

Runtime::Runtime(const Ranks& ranks, RuntimeOptions options)
    : core_(new RuntimeCore(std::move(options), ranks), detail::DeleteAtOrigin()) {}

Runtime::~Runtime() { core_->stop(); }

Result<File> Runtime::open(const std::string& path) {
  if (const Status may = core_->check_role("open"); !may)
    return failure(located(may.error(), path));
  auto opened = std::make_shared<File::Opened>();
  opened->path = path;
  const Result<std::uint64_t> size = [&]() -> Result<std::uint64_t> {
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
  if (const Status here = core_->check_process("allocate"); !here) return failure(here.error());
  return core_->buffers().allocate(size_bytes, kind);
}

Result<OutputStream> Runtime::output_stream(const StreamPlan& plan) {
  if (const Status may = core_->check_role("make an output stream"); !may)
    return failure(may.error());
  return core_->streams().open(plan, core_->executor());
}

Result<Dataset> Runtime::dataset(const std::string& path, const std::optional<WritePlan>& plan) {
  if (const Status may = core_->check_role("open a dataset"); !may)
    return failure(located(may.error(), path));
  return core_->open_dataset(path, plan).map([](std::shared_ptr<write::DatasetCore> core) {
    return Dataset(std::move(core));
  });
}

Result<Session> Runtime::session(const SessionHandle& handle) const {
  if (const Status may = core_->check_role("find a session"); !may) return failure(may.error());
  return core_->registry().find(handle);
}

std::uint32_t Runtime::rank() const noexcept {
  return core_->ranks() ? (*core_->ranks())->rank().number : 0;
}

std::uint32_t Runtime::rank_count() const noexcept {
  return core_->ranks() ? (*core_->ranks())->size() : 1;
}

Role Runtime::role() const noexcept { return core_->role(); }

Ranks Runtime::compute() const { return core_->compute(); }

Status Runtime::serve() { return core_->serve(); }

EventLoop& Runtime::loop() noexcept { return core_->loop(); }

}  // namespace forebay
