// SPDX-License-Identifier: Apache-2.0
#include "runtime/session_registry.hpp"

#include <algorithm>
#include <string>

#include "read/requests.hpp"
#include "read/session_core.hpp"

namespace forebay {

namespace {

tl::unexpected<Error> session_error(ErrorClass kind, std::string cause) {
  return failure({.kind = kind, .operation = "find a session", .cause = std::move(cause)});
}

}  // namespace

SessionHandle SessionRegistry::next_handle() {
  const std::lock_guard lock(mutex_);
  return {.runtime = runtime_, .number = next_number_++};
}

void SessionRegistry::add(const std::shared_ptr<read::SessionCore>& core, const Session& session) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= cleanup_threshold_) {
    std::erase_if(entries_, [](const auto& entry) { return entry.second.core.expired(); });
    cleanup_threshold_ = std::max<std::size_t>(64, 2 * entries_.size());
  }
  entries_[core->handle().number] = {core, read::HandleAccess::close_guard(session)};
}

void SessionRegistry::add_unnumbered(const std::shared_ptr<read::SessionCore>& core) {
  const std::lock_guard lock(mutex_);
  std::erase_if(unnumbered_, [](const auto& session) { return session.expired(); });
  unnumbered_.push_back(core);
}

Result<Session> SessionRegistry::find(const SessionHandle& handle) const {
  const std::string name = "session " + std::to_string(handle.number);
  if (handle.runtime != runtime_)
    return session_error(ErrorClass::kInvalidArgument, name + " belongs to another Runtime");
  const std::lock_guard lock(mutex_);
  if (handle.number >= next_number_) {
    return session_error(ErrorClass::kNotFound,
                         name +
                             " is not open on this rank yet; open all sessions in the same order "
                             "on each rank");
  }
  const auto found = entries_.find(handle.number);
  if (found != entries_.end()) {
    auto core = found->second.core.lock();
    auto close_guard = found->second.close_guard.lock();
    if (core && close_guard && !core->is_closed())
      return read::HandleAccess::make_session(std::move(core), std::move(close_guard));
  }
  return session_error(ErrorClass::kClosed,
                       name + " has ended on this rank, or could not be opened");
}

void SessionRegistry::close_all() {
  std::vector<std::shared_ptr<read::SessionCore>> sessions;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, entry] : entries_)
      sessions.push_back(entry.core.lock());
    for (const auto& session : unnumbered_)
      sessions.push_back(session.lock());
  }
  for (const auto& session : sessions)
    if (session) session->close();
}

void SessionRegistry::add_file(const storage::FileIdentity& file,
                               const std::shared_ptr<read::SessionCore>& core) {
  const std::lock_guard lock(mutex_);
  std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
  files_.emplace(file, core);
  has_files_.store(true, std::memory_order_release);
}

void SessionRegistry::invalidate(const storage::FileIdentity& file, ByteRange range) {
  if (!has_files_.load(std::memory_order_acquire)) return;
  std::vector<std::shared_ptr<read::SessionCore>> sessions;
  {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = files_.equal_range(file);
    for (auto entry = first; entry != last; ++entry) {
      if (auto open = entry->second.lock()) sessions.push_back(std::move(open));
    }
  }
  for (const auto& session : sessions)
    session->invalidate(range);
}

}  // namespace forebay
