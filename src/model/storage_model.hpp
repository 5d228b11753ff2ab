// SPDX-License-Identifier: Apache-2.0
// The storage of a machine file as a network of queues: docs/formats/machine.md, "What the numbers
// mean", event by event. It has no clock and no thread: emufs drives it with the real time, the
// simulator and tests with an invented one.
#pragma once

#include <forebay/range.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/layout.hpp"
#include "model/machine.hpp"

namespace forebay::model {

/// Time since a moment that the caller chooses.
using Time = std::chrono::nanoseconds;

using FileId = std::uint64_t;
using ClientId = std::uint32_t;

/// What a client asks for. The last four are operations on names.
enum class RequestKind : std::uint8_t { kRead, kWrite, kCreate, kOpen, kStat, kUnlink };

constexpr bool is_on_bytes(RequestKind kind) noexcept {
  return kind == RequestKind::kRead || kind == RequestKind::kWrite;
}

struct Request {
  ClientId client = 0;  ///< below the machine's client.count
  RequestKind kind = RequestKind::kRead;
  FileId file = 0;         ///< of kRead and kWrite: whose locks are taken
  ByteRange range = {};    ///< of kRead and kWrite: the bytes that are moved, and paid for
  Layout layout = {};      ///< of kRead and kWrite
  std::uint64_t name = 0;  ///< of operations on names: name_hash()
  std::uint64_t tag = 0;   ///< the caller's own; comes back with the answer
  /// Of kRead and kWrite: how many bytes from the first are locked, if more than are moved. A read
  /// past the end of a file locks what is not there. With none of either it is finished at once.
  std::uint64_t locked_bytes = 0;

  ByteRange locked() const noexcept { return {range.offset, std::max(range.size, locked_bytes)}; }
};

enum class RequestId : std::uint64_t {};

/// A request that is done.
struct Finished {
  RequestId id = {};
  std::uint64_t tag = 0;
  Time submitted = {};
  Time finished = {};  ///< exact, whenever advance() was called
};

/// A client has lost a lock: its page cache must forget these bytes before the new holder is
/// answered.
struct LockLost {
  ClientId client = 0;
  FileId file = 0;
  ByteRange range = {};  ///< of a lock on the whole file: {0, all}
  Time at = {};
};

/// Is told what happens, in the order of model time. May submit further requests.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void on_finished(const Finished& finished) = 0;
  virtual void on_lock_lost(const LockLost& lost) = 0;
};

/// What a server has done and does.
struct ServerCounters {
  std::uint64_t requests = 0;    ///< parts of requests, or operations on names, that ended here
  std::uint64_t bytes_read = 0;  ///< of those
  std::uint64_t bytes_written = 0;
  std::uint64_t dropped = 0;     ///< lost by a server that drops
  std::uint32_t in_service = 0;  ///< now
  std::uint32_t in_service_most = 0;
  std::uint64_t waiting = 0;  ///< for a place, now
  std::uint64_t waiting_most = 0;
  Time waited = {};  ///< for a place, all together
  Time busy = {};    ///< while at least one was in service
};

struct ClientCounters {
  std::uint64_t requests = 0;         ///< finished, as they were submitted
  std::uint64_t name_operations = 0;  ///< of those
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t under_way = 0;  ///< now
  std::uint64_t under_way_most = 0;
  Time answered_in = {};           ///< all together, from submission to the end
  std::uint64_t lock_changes = 0;  ///< locks that this client took from others
  std::uint64_t locks_lost = 0;
  Time waited_for_locks = {};  ///< all parts together
};

/// What a server does from some time on. Applies to what begins later: a part that has its latency
/// or its transfer behind it does not go back.
struct ServerCondition {
  enum class State : std::uint8_t {
    kWorks,
    kStopped,  ///< nothing begins; requests wait until it works again
    kDrops,    ///< what would begin is lost: its request never ends, and holds its locks
  };
  State state = State::kWorks;
  double slowness = 1;  ///< latencies and transfers take this many times as long
};

/// A server can be slowed down by this much; its slowness is above 0.
inline constexpr double kSlownessMax = 1e6;

/// Data server `index`, or metadata server `index`.
struct ServerName {
  enum class Kind : std::uint8_t { kData, kMetadata };
  Kind kind = Kind::kData;
  std::uint32_t index = 0;
};

/// Not safe for several threads at once: the owner has a lock. A call costs O(log n) for each event
/// in it, n being the parts of requests that are under way.
class StorageModel {
 public:
  /// `machine` has at least one server and is copied.
  explicit StorageModel(const Machine& machine);
  ~StorageModel();
  StorageModel(StorageModel&&) noexcept;
  StorageModel& operator=(StorageModel&&) noexcept;

  /// A request arrives at `now`. That may be before the end of the last advance(), as long as
  /// nothing has happened since: a time before the last event counts as that of the event. Nothing
  /// is told to anybody before the next advance().
  RequestId submit(Time now, const Request& request);

  /// When something happens next, at the earliest; none if everything waits for a server that is
  /// stopped, or nothing is under way.
  std::optional<Time> next_event() const;

  /// Everything up to and including `until` happens.
  void advance(Time until, Sink& sink);

  /// Nobody waits for this request any more: the sink is not told of its end, and if a server has
  /// dropped parts of it, their locks are free for others. What is in service goes on. A request
  /// that has ended is ignored.
  void forget(Time now, RequestId id);

  /// Whether a server has dropped some of it, so that it stays under way for ever. Not of what only
  /// waits for locks of such a request.
  bool never_ends(RequestId id) const;

  /// The server is in this condition from `now` on.
  void set_condition(Time now, ServerName server, ServerCondition condition);

  /// The file is gone: the locks on it that nobody uses are no longer kept.
  void forget_file(FileId file);

  /// Requests that were submitted and have not ended.
  std::uint64_t under_way() const;

  /// As of the last advance().
  ServerCounters counters(ServerName server) const;
  ClientCounters counters(ClientId client) const;
  /// All counters begin at 0; what is under way and waits goes on being counted.
  void reset_counters();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace forebay::model
