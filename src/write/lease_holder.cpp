// SPDX-License-Identifier: Apache-2.0
#include "write/lease_holder.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

#include "base/printable.hpp"
#include "write/processes.hpp"

namespace forebay::write {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstLogDelay{1000};
constexpr milliseconds kLogInterval{5000};
constexpr int kPollsPerHeartbeat = 4;

/// What to do about a holder.
struct HolderCheck {
  enum class Action : std::uint8_t { kReject, kTakeOver, kWait };
  Action action = Action::kReject;
  milliseconds heartbeat_timeout{};  ///< of kWait
  std::string reason = {};           ///< why its death is not proved yet, for the log
};

constexpr auto kReject = HolderCheck::Action::kReject;
constexpr auto kTakeOver = HolderCheck::Action::kTakeOver;
constexpr auto kWait = HolderCheck::Action::kWait;

bool is_copy(const LeaseFileState& found) {
  return found.holder && found.holder->inode != 0 && found.holder->inode != found.inode;
}

/// On NFS and Lustre, inode numbers are those of the servers. Clients of other file systems, and
/// FUSE, may invent them.
HolderCheck check_copied_dataset(const LeaseFileState& found, const LeaseOptions& options) {
  if (is_local(found.file_system)) return {.action = kTakeOver};
  const bool is_server_number = found.file_system == storage::FileSystem::kNfs ||
                                found.file_system == storage::FileSystem::kLustre;
  return {.action = kWait,
          .heartbeat_timeout = is_server_number ? options.heartbeat_timeout_ms_min
                                                : options.heartbeat_timeout_ms_max,
          .reason =
              "the dataset seems to be a copy, as the file `owner` has another inode number "
              "than it records"};
}

/// For storage of this host alone; no value if the lock proves nothing. A free lock proves death
/// only for the file that was locked: a snapshot, and a second mount of an overlay's layer, have
/// separate locks.
std::optional<HolderCheck> check_free_lock(const LeaseFileState& found,
                                           const format::LeaseHolder& self,
                                           const LeaseOptions& options) {
  const format::LeaseHolder& holder = *found.holder;
  if (!holder.is_locked || found.lock != LeaseLock::kFree) return std::nullopt;
  if (holder.device == found.device || holder.boot_id != self.boot_id)
    return HolderCheck{.action = kTakeOver};
  return HolderCheck{.action = kWait,
                     .heartbeat_timeout = options.heartbeat_timeout_ms_max,
                     .reason =
                         "the file `owner` is on another device than it records, as in a "
                         "snapshot of the dataset"};
}

HolderCheck check_process(const format::LeaseHolder& holder,
                          std::optional<ProcessState> process_state,
                          const LeaseOptions& options) {
  if (process_state == ProcessState::kRunning) return {.action = kReject};
  if (process_state == ProcessState::kEnded)
    return {.action = kWait,
            .heartbeat_timeout = options.heartbeat_timeout_ms_min,
            .reason = "the process has ended here, but a clone of this machine may still write"};
  return {.action = kWait,
          .heartbeat_timeout = options.heartbeat_timeout_ms_max,
          .reason = process_state
                        ? "the start time of process " + std::to_string(holder.process_id) +
                              " is hidden from this user"
                        : "the process is on another host, of an earlier boot, or in another PID "
                          "namespace, so this host cannot see it"};
}

HolderCheck check_holder(const LeaseFileState& found,
                         const format::LeaseHolder& self,
                         const LeaseOptions& options) {
  const bool is_held = found.lock == LeaseLock::kHeld;
  if (!found.holder)
    return {.action = is_held ? kReject : kWait,
            .heartbeat_timeout = options.heartbeat_timeout_ms_max,
            .reason = "the file `owner` is damaged"};
  const format::LeaseHolder& holder = *found.holder;
  const bool is_near = holder.host == self.host && holder.boot_id == self.boot_id &&
                       holder.process_namespace == self.process_namespace &&
                       self.process_namespace != 0;
  std::optional<ProcessState> state;
  if (is_near) state = process_state(holder.process_id, holder.process_start);
  if (is_held && state != ProcessState::kEnded) return {.action = kReject};
  if (is_held)
    return {.action = kWait,
            .heartbeat_timeout = options.heartbeat_timeout_ms_min,
            .reason = "the process has ended, but a child that it forked holds its lock"};
  if (is_copy(found)) return check_copied_dataset(found, options);
  if (const auto check = check_free_lock(found, self, options)) return *check;
  return check_process(holder, state, options);
}

std::string format_seconds(std::chrono::nanoseconds time) {
  const auto tenths = std::chrono::round<std::chrono::duration<std::int64_t, std::deci>>(time);
  const auto count = tenths.count();
  const std::string whole = std::to_string(count / 10);
  return count % 10 == 0 ? whole + " s" : whole + "." + std::to_string(count % 10) + " s";
}

/// Waits until the file at a path has had no heartbeat for the timeout of a check.
class HeartbeatWait {
 public:
  HeartbeatWait(std::string directory,
                const std::string& path,
                const LeaseFileState& found,
                const HolderCheck& check,
                const LeaseOptions& options)
      : directory_(std::move(directory)),
        path_(path),
        found_(found),
        check_(check),
        options_(options),
        started_(options.clock->now()),
        expiry_(started_ + check.heartbeat_timeout),
        end_(options.deadline ? std::min(expiry_, *options.deadline) : expiry_) {}

  Status run() {
    const milliseconds pause =
        std::max(milliseconds(1),
                 std::min(options_.heartbeat_ms, check_.heartbeat_timeout) / kPollsPerHeartbeat);
    while (options_.clock->now() < end_) {
      if (!options_.clock->sleep_for(pause))
        return wait_error(ErrorClass::kCancelled, "was cancelled");
      const auto now = read_lease_file(path_);
      if (!now) return failure(now.error());
      if (!*now) return {};  // its holder removed it
      if (!found_.is_unchanged_in(**now)) return failure(lease_held_error(path_, **now));
      log_progress();
    }
    if (end_ < expiry_)
      return wait_error(ErrorClass::kLimit, "reached the deadline of the opening");
    if (next_line_ > kFirstLogDelay)
      log("no heartbeat of " + describe_holder(found_) + " for " +
          format_seconds(check_.heartbeat_timeout) + "; taking the dataset over");
    return {};
  }

 private:
  void log(const std::string& text) const {
    options_.log->write(LogLevel::kWarning, to_printable(directory_ + ": " + text));
  }

  void log_progress() {
    const TimePoint now = options_.clock->now();
    const auto waited = now - started_;
    if (waited < next_line_ || now >= end_) return;
    const bool is_first = next_line_ == kFirstLogDelay;
    next_line_ = is_first ? kLogInterval : next_line_ + kLogInterval;
    if (is_first)
      return log("waiting for at most " + format_seconds(end_ - started_) + " for a heartbeat of " +
                 describe_holder(found_) + ": " + check_.reason +
                 (end_ < expiry_ ? "; then the opening reaches its deadline"
                                 : "; without one the dataset is taken over"));
    log("no heartbeat of " + describe_holder(found_) + " for " + format_seconds(waited) +
        "; waiting for at most " + format_seconds(end_ - started_ - waited) + " more");
  }

  Status wait_error(ErrorClass kind, const std::string& how) const {
    return failure({.kind = kind,
                    .operation = "write the dataset of",
                    .path = path_,
                    .cause = "the wait for a heartbeat of " + describe_holder(found_) + " " + how +
                             " after " + format_seconds(options_.clock->now() - started_) + " of " +
                             format_seconds(check_.heartbeat_timeout) + "; " + check_.reason});
  }

  const std::string directory_;
  const std::string& path_;
  const LeaseFileState& found_;
  const HolderCheck& check_;
  const LeaseOptions& options_;
  const TimePoint started_;
  const TimePoint expiry_;
  const TimePoint end_;
  milliseconds next_line_ = kFirstLogDelay;
};

}  // namespace

bool LeaseClock::sleep_for(milliseconds time) {
  std::this_thread::sleep_for(time);
  return true;
}

LeaseClock& LeaseClock::shared() noexcept {
  static LeaseClock clock;
  return clock;
}

Status wait_for_holder(const std::string& directory,
                       const std::string& path,
                       const LeaseFileState& found,
                       const format::LeaseHolder& self,
                       const LeaseOptions& options) {
  const HolderCheck check = check_holder(found, self, options);
  if (check.action == kReject) return failure(lease_held_error(path, found));
  if (check.action == kWait)
    if (Status silent = HeartbeatWait(directory, path, found, check, options).run(); !silent)
      return silent;
  if (is_copy(found))
    options.log->write(
        LogLevel::kWarning,
        to_printable(directory + " is a copy: its file `owner` was written as inode " +
                     std::to_string(found.holder->inode) + " and is inode " +
                     std::to_string(found.inode) + "; the lease of " + describe_holder(found) +
                     " is not valid here"));
  return {};
}

}  // namespace forebay::write
