// SPDX-License-Identifier: Apache-2.0
#include "push/named_functions.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include "base/printable.hpp"
#include "push/loads_ahead.hpp"
#include "read/requests.hpp"

namespace forebay::push {

namespace {

/// Functions that clients have ended and that have not returned.
constexpr std::size_t kRetiredMax = 64;
/// Bytes of a name that Errors show.
constexpr std::size_t kNameShownMax = 100;

/// Pushes ranges into the window of a client's node.
struct ClientPushes {
  void push(ByteRange range) {
    const auto open = session.lock();
    if (!open) return;
    const read::Geometry& geometry = open->geometry();
    const std::uint64_t now = position.load(std::memory_order_relaxed);
    use = std::max(use, now) + 1;
    std::vector<read::SplinterRequest> loads;
    const std::uint64_t loads_max = loads_ahead_max(open->plan());
    const read::SplinterIndex last = geometry.index_at(range.end() - 1);
    for (auto splinter = geometry.index_at(range.offset);
         splinter <= last && loads.size() < loads_max; ++splinter) {
      loads.push_back({.splinter = splinter,
                       .part = geometry.part_of(range, splinter),
                       .granularity = read::LoadGranularity::kExact,
                       .use = use});
    }
    open->push(loads, now, client);
  }

  const std::weak_ptr<read::LocalSession> session;
  const std::uint32_t client = 0;
  std::atomic<std::uint64_t> position{0};  ///< accesses of the client
  std::uint64_t use = 0;                   ///< of the range that was pushed last
};

}  // namespace

/// A function that runs for a client until this is destroyed.
struct NamedFunctions::Run {
  explicit Run(NamedFunctions& functions) : owner(functions) {}
  ~Run() {
    if (execution) owner.retire(std::move(execution));
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  NamedFunctions& owner;
  detail::OriginPointer<PreExecution> execution;
};

Status NamedFunctions::add(std::string name, NextReadFactory factory) {
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = factories_.try_emplace(std::move(name), std::move(factory));
  if (is_new) return {};
  return failure({.kind = ErrorClass::kExists,
                  .operation = "register a function",
                  .cause = "there is one of the name '" + to_printable(entry->first) + "'"});
}

Result<NextRead> NamedFunctions::make(const std::string& name,
                                      std::shared_ptr<read::SessionCore> session,
                                      std::span<const std::byte> argument) {
  const std::lock_guard lock(mutex_);
  const auto found = factories_.find(name);
  if (found == factories_.end()) {
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "pre-execute the reads of",
                    .path = session->path(),
                    .cause = "no function '" + to_printable(name.substr(0, kNameShownMax)) +
                             "' is registered in the process that would run it; call "
                             "register_next_reads() on all ranks, I/O ranks too, before "
                             "sessions are opened"});
  }
  return [factory = found->second, session = std::move(session),
          argument = std::vector(argument.begin(), argument.end()),
          next = NextRead()]() mutable -> std::optional<ByteRange> {
    if (!next) {
      next = factory(read::HandleAccess::make_session(std::move(session), std::make_shared<int>()),
                     argument);
    }
    return next ? next() : std::nullopt;
  };
}

Result<read::NodeServer::ReadListener> NamedFunctions::start(read::NodeServer::FunctionCall call) {
  if (drop_ended() >= kRetiredMax) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "pre-execute the reads of",
                    .path = call.session->path(),
                    .cause = std::to_string(kRetiredMax) +
                             " functions on the agent that were replaced have not returned"});
  }
  auto next = make(call.name, call.session, call.argument);
  if (!next) return failure(next.error());
  const auto pushes = std::make_shared<ClientPushes>(call.session, call.client_index);
  const auto run = std::make_shared<Run>(*this);
  auto started = PreExecution::start(std::move(*next),
                                     {.extent = call.session->geometry().extent(),
                                      .path = call.session->path(),
                                      .push = [pushes](ByteRange range) { pushes->push(range); },
                                      .report =
                                          [log = log_](const Error& error) {
                                            if (log != nullptr)
                                              log->write(LogLevel::kWarning, error.message());
                                          }});
  if (!started) return failure(started.error());
  run->execution = std::move(*started);
  return [run, pushes](ByteRange read, std::uint64_t position) {
    pushes->position.store(position, std::memory_order_relaxed);
    run->execution->observe(read);
  };
}

/// Does not wait for them. Returns the number of those left.
std::size_t NamedFunctions::drop_ended() {
  std::list<detail::OriginPointer<PreExecution>> ended;  // outside the lock
  const std::lock_guard lock(mutex_);
  for (auto one = retired_.begin(); one != retired_.end();) {
    const auto next = std::next(one);
    if ((*one)->has_ended()) ended.splice(ended.end(), retired_, one);
    one = next;
  }
  return retired_.size();
}

/// Does not wait for a function, because the agent's thread calls it.
void NamedFunctions::retire(detail::OriginPointer<PreExecution> run) {
  run->cancel();
  drop_ended();
  const std::lock_guard lock(mutex_);
  retired_.push_back(std::move(run));
}

void NamedFunctions::stop() {
  std::list<detail::OriginPointer<PreExecution>> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(retired_);
  }
  const TimePoint limit = std::chrono::steady_clock::now() + PreExecution::kReturnTimeout;
  for (const auto& one : ended)
    one->set_return_deadline(limit);
}

}  // namespace forebay::push
