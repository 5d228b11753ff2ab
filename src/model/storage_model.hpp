// SPDX-License-Identifier: Apache-2.0
// StorageModel: the storage of a machine file as a network of queues, simulated event by event.
// docs/formats/machine.md ("What the numbers mean") defines it. It has no clock and no thread:
// emufs drives it with real time, the simulator and tests with virtual time.
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

/// Time since an origin that the caller chooses.
using Time = std::chrono::nanoseconds;

using FileId = std::uint64_t;
using ClientId = std::uint32_t;

/// Kind of a request. kSync makes a file durable. The kinds from kCreate on are metadata
/// operations.
enum class RequestKind : std::uint8_t {
  kRead,
  kWrite,
  kSync,
  kCreate,
  kOpen,
  kStat,
  kUnlink,
  kSyncDirectory
};

constexpr bool is_data_request(RequestKind kind) noexcept {
  return kind == RequestKind::kRead || kind == RequestKind::kWrite;
}

constexpr bool is_metadata_request(RequestKind kind) noexcept {
  return kind >= RequestKind::kCreate;
}

struct Request {
  ClientId client = 0;  ///< below the machine's client.count
  RequestKind kind = RequestKind::kRead;
  FileId file = 0;         ///< of kRead, kWrite (its locks are taken) and kSync
  ByteRange range = {};    ///< of kRead and kWrite: bytes that are transferred and cost time
  Layout layout = {};      ///< of kRead and kWrite
  std::uint64_t name = 0;  ///< of metadata operations: name_hash()
  std::uint64_t tag = 0;   ///< set by the caller; returned in the completion
  /// Of kRead and kWrite: number of bytes locked from the first on, if more than are transferred. A
  /// read past the end of a file locks bytes that do not exist. A request with no bytes of either
  /// is completed at once.
  std::uint64_t locked_bytes = 0;
  bool is_durable = false;  ///< of kWrite: a sync of the file follows before the completion

  ByteRange locked_range() const noexcept {
    return {range.offset, std::max(range.size, locked_bytes)};
  }
};

enum class RequestId : std::uint64_t {};

/// A completed request.
struct RequestCompletion {
  RequestId id = {};
  std::uint64_t tag = 0;
  Time submitted = {};
  Time finished = {};  ///< exact, whenever advance() is called
};

/// A client has lost a lock: its page cache must drop these bytes before the request of the new
/// holder completes.
struct LockRevoked {
  ClientId client = 0;
  FileId file = 0;
  ByteRange range = {};  ///< of a lock on the whole file: {0, kAll}
  Time at = {};
};

/// Receives events, in the order of model time. May submit further requests.
class ModelObserver {
 public:
  virtual ~ModelObserver() = default;
  virtual void on_complete(const RequestCompletion& finished) = 0;
  virtual void on_lock_revoked(const LockRevoked& lost) = 0;
};

/// Counters of a server.
struct ServerCounters {
  std::uint64_t requests = 0;    ///< parts of reads and writes, or metadata operations, completed
  std::uint64_t bytes_read = 0;  ///< of those
  std::uint64_t bytes_written = 0;
  std::uint64_t syncs = 0;       ///< syncs of files that were committed here
  std::uint64_t commits = 0;     ///< that began; each covers one or several syncs
  std::uint64_t dropped = 0;     ///< lost while the server was dropping
  std::uint32_t in_service = 0;  ///< now
  std::uint32_t in_service_max = 0;
  std::uint64_t waiting = 0;  ///< for a slot, now
  std::uint64_t waiting_max = 0;
  Time wait_time = {};  ///< for a slot, sum over all
  Time busy_time = {};  ///< while at least one was in service
};

struct ClientCounters {
  std::uint64_t requests = 0;             ///< completed, as submitted
  std::uint64_t metadata_operations = 0;  ///< of those
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t in_flight = 0;  ///< now
  std::uint64_t in_flight_max = 0;
  Time response_time = {};         ///< sum, from submission to completion
  std::uint64_t lock_changes = 0;  ///< locks that this client took from other clients
  std::uint64_t locks_revoked = 0;
  Time lock_wait_time = {};  ///< sum over all parts
};

/// Behavior of a server from some time on. It applies to work that begins later: a subrequest keeps
/// a latency or a transfer that it has completed.
struct ServerCondition {
  enum class State : std::uint8_t {
    kRunning,
    kStopped,   ///< starts no work; requests wait until it runs again
    kDropping,  ///< loses what it would start: the request never completes, and holds its locks
  };
  State state = State::kRunning;
  double slowness = 1;  ///< factor of latencies and transfers
};

/// Largest slowness; slowness must be above 0.
inline constexpr double kSlownessMax = 1e6;

/// Data server `index`, or metadata server `index`.
struct ServerId {
  enum class Kind : std::uint8_t { kData, kMetadata };
  Kind kind = Kind::kData;
  std::uint32_t index = 0;
};

/// Not thread-safe: the owner must lock. A call costs O(log n) for each event handled in it, with n
/// parts of requests in flight.
class StorageModel {
 public:
  /// `machine` has at least one server and is copied.
  explicit StorageModel(const Machine& machine);
  ~StorageModel();
  StorageModel(StorageModel&&) noexcept;
  StorageModel& operator=(StorageModel&&) noexcept;

  /// Submits a request that arrives at `now`. `now` may be before the end of the last advance() if
  /// no event has occurred since: a time before the last event counts as that of the event.
  /// Observers are called only by the next advance().
  RequestId submit(Time now, const Request& request);

  /// Time of the next event; none if all requests wait for stopped servers, or none is in flight.
  std::optional<Time> next_event() const;

  /// Handles all events up to and including `until`.
  void advance(Time until, ModelObserver& observer);

  /// Cancels a request: the observer does not receive its completion. If a server has dropped parts
  /// of it, their locks become free. Parts in service continue. A completed request is ignored.
  void cancel(Time now, RequestId id);

  /// Whether a server has dropped a part of the request, so that it stays in flight without limit.
  /// False for requests that only wait for locks of such a request.
  bool is_dropped(RequestId id) const;

  /// Sets the server's condition from `now` on.
  void set_condition(Time now, ServerId server, ServerCondition condition);

  /// The file was removed: releases the locks on it that are not in use. A later sync has nothing
  /// to commit.
  void remove_file(FileId file);

  /// Requests that were submitted and are not completed.
  std::uint64_t in_flight() const;

  /// As of the last advance().
  ServerCounters counters(ServerId server) const;
  ClientCounters counters(ClientId client) const;
  /// Resets all counters to 0, except those of requests in flight and waiting.
  void reset_counters();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace forebay::model
