// SPDX-License-Identifier: Apache-2.0
// SessionRegistry: the sessions that this rank has opened, by number. All ranks open sessions in
// the same order, so a number identifies the same session everywhere without communication.
#pragma once

#include <forebay/error.hpp>
#include <forebay/session.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "storage/file_system.hpp"

namespace forebay {

/// Thread-safe.
class SessionRegistry {
 public:
  /// `runtime` is the same on all ranks of a Runtime, and different for every other Runtime.
  explicit SessionRegistry(std::uint64_t runtime) : runtime_(runtime) {}

  /// The handle of the next session to open. Counts attempts, so an attempt that fails on some
  /// ranks does not shift the numbers of the others.
  SessionHandle next_handle();
  void add(const std::shared_ptr<read::SessionCore>& core, const Session& session);
  /// Adds a session that exists only on this rank: close_all() closes it, and find() does not
  /// return it.
  void add_unnumbered(const std::shared_ptr<read::SessionCore>& core);
  /// As Runtime::find_session().
  Result<Session> find(const SessionHandle& handle) const;
  void close_all();

  /// From now on, invalidate() of this file applies to the session, which is on demand.
  void add_file(const storage::FileIdentity& file, const std::shared_ptr<read::SessionCore>& core);
  /// Bytes of the file have changed: SessionCore::invalidate() for its sessions on demand. Takes
  /// nanoseconds while there are none. Any thread.
  void invalidate(const storage::FileIdentity& file, ByteRange range);

 private:
  struct Entry {
    std::weak_ptr<read::SessionCore> core;
    std::weak_ptr<void> close_guard;
  };

  const std::uint64_t runtime_;
  mutable std::mutex mutex_;
  std::uint64_t next_number_ = 0;
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::vector<std::weak_ptr<read::SessionCore>> unnumbered_;
  std::atomic<bool> has_files_{false};
  std::multimap<storage::FileIdentity, std::weak_ptr<read::SessionCore>> files_;
  std::size_t cleanup_threshold_ = 64;  // number of entries at which ended ones are removed
};

}  // namespace forebay
