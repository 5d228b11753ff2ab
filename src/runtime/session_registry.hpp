// SPDX-License-Identifier: Apache-2.0
// Which sessions this rank has opened, by number. Ranks open their sessions in one order, so the
// number says the same everywhere without a word between them.
#pragma once

#include <forebay/error.hpp>
#include <forebay/session.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace forebay {

/// Any thread.
class SessionRegistry {
 public:
  /// `runtime` is the same on all ranks of a Runtime, and another one elsewhere.
  explicit SessionRegistry(std::uint64_t runtime) : runtime_(runtime) {}

  /// For the session that is about to be opened. Counts attempts, so that one that fails on some
  /// ranks does not shift the others.
  SessionHandle next();
  void enlist(const std::shared_ptr<read::SessionCore>& core, const Session& session);
  /// A session that no other rank knows: it is closed with the others, and cannot be found.
  void enlist_unnumbered(const std::shared_ptr<read::SessionCore>& core);
  /// As Runtime::session().
  Result<Session> find(const SessionHandle& handle) const;
  void close_all();

 private:
  struct Entry {
    std::weak_ptr<read::SessionCore> core;
    std::weak_ptr<void> closer;
  };

  const std::uint64_t runtime_;
  mutable std::mutex mutex_;
  std::uint64_t next_number_ = 0;
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::vector<std::weak_ptr<read::SessionCore>> unnumbered_;
  std::size_t tidy_at_ = 64;  // so many entries, and those that have ended are dropped
};

}  // namespace forebay
