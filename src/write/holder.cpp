// SPDX-License-Identifier: Apache-2.0
#include "write/holder.hpp"

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

constexpr milliseconds kFirstLineAfter{1000};
constexpr milliseconds kLineEvery{5000};
constexpr int kLooksPerBeat = 4;

/// What is to be done about a holder.
struct Verdict {
  enum class Action : std::uint8_t { kRefuse, kTake, kWait };
  Action action = Action::kRefuse;
  milliseconds silence{};   ///< of kWait
  std::string reason = {};  ///< why its death is not proved yet, for the log
};

constexpr auto kRefuse = Verdict::Action::kRefuse;
constexpr auto kTake = Verdict::Action::kTake;
constexpr auto kWait = Verdict::Action::kWait;

bool is_copy(const OwnerSeen& found) {
  return found.owner && found.owner->inode != 0 && found.owner->inode != found.inode;
}

/// NFS and Lustre take inode numbers from their servers. Other clients and FUSE may make them up.
Verdict judge_copy(const OwnerSeen& found, const LeaseOptions& options) {
  if (is_local(found.file_system)) return {.action = kTake};
  const bool is_server_number = found.file_system == storage::FileSystem::kNfs ||
                                found.file_system == storage::FileSystem::kLustre;
  return {.action = kWait,
          .silence = is_server_number ? options.silence_ms_min : options.silence_ms_max,
          .reason =
              "the dataset seems to be a copy, as the file `owner` has another inode number "
              "than it records"};
}

/// The file is on this host's own storage. A free lock proves death only for the file that was
/// locked: a snapshot, and a second mount of an overlay's layer, have a lock of their own.
std::optional<Verdict> judge_free_lock(const OwnerSeen& found,
                                       const format::Owner& self,
                                       const LeaseOptions& options) {
  const format::Owner& owner = *found.owner;
  if (!owner.is_locked || found.lock != OwnerLock::kFree) return std::nullopt;
  if (owner.device == found.device || owner.boot_id != self.boot_id)
    return Verdict{.action = kTake};
  return Verdict{.action = kWait,
                 .silence = options.silence_ms_max,
                 .reason =
                     "the file `owner` is on another device than it records, as in a "
                     "snapshot of the dataset"};
}

Verdict judge_by_process(const format::Owner& owner,
                         std::optional<Fate> fate,
                         const LeaseOptions& options) {
  if (fate == Fate::kLives) return {.action = kRefuse};
  if (fate == Fate::kGone)
    return {.action = kWait,
            .silence = options.silence_ms_min,
            .reason = "the process has ended here, but a clone of this machine may still write"};
  return {.action = kWait,
          .silence = options.silence_ms_max,
          .reason = fate ? "the start time of process " + std::to_string(owner.process_id) +
                               " is hidden from this user"
                         : "the process is on another host, of an earlier boot, or in another PID "
                           "namespace, so this host cannot see it"};
}

Verdict judge(const OwnerSeen& found, const format::Owner& self, const LeaseOptions& options) {
  const bool is_held = found.lock == OwnerLock::kHeld;
  if (!found.owner)
    return {.action = is_held ? kRefuse : kWait,
            .silence = options.silence_ms_max,
            .reason = "the file `owner` is damaged"};
  const format::Owner& owner = *found.owner;
  const bool is_near = owner.host == self.host && owner.boot_id == self.boot_id &&
                       owner.process_namespace == self.process_namespace &&
                       self.process_namespace != 0;
  std::optional<Fate> fate;
  if (is_near) fate = fate_of_process(owner.process_id, owner.process_start);
  if (is_held && fate != Fate::kGone) return {.action = kRefuse};
  if (is_held)
    return {.action = kWait,
            .silence = options.silence_ms_min,
            .reason = "the process has ended, but a child that it forked holds its lock"};
  if (is_copy(found)) return judge_copy(found, options);
  if (const auto verdict = judge_free_lock(found, self, options)) return *verdict;
  return judge_by_process(owner, fate, options);
}

std::string seconds_text(std::chrono::nanoseconds time) {
  const auto tenths = std::chrono::round<std::chrono::duration<std::int64_t, std::deci>>(time);
  const auto count = tenths.count();
  const std::string whole = std::to_string(count / 10);
  return count % 10 == 0 ? whole + " s" : whole + "." + std::to_string(count % 10) + " s";
}

/// Waits until the file at a path has had no heartbeat for the time of the verdict.
class SilenceWait {
 public:
  SilenceWait(std::string folder,
              const std::string& path,
              const OwnerSeen& found,
              const Verdict& verdict,
              const LeaseOptions& options)
      : folder_(std::move(folder)),
        path_(path),
        found_(found),
        verdict_(verdict),
        options_(options),
        begun_(options.clock->now()),
        silent_(begun_ + verdict.silence),
        end_(options.deadline ? std::min(silent_, *options.deadline) : silent_) {}

  Status run() {
    const milliseconds pause =
        std::max(milliseconds(1), std::min(options_.beat_ms, verdict_.silence) / kLooksPerBeat);
    while (options_.clock->now() < end_) {
      if (!options_.clock->sleep_for(pause)) return ended(ErrorClass::kCancelled, "was cancelled");
      const auto now = look_at_owner(path_);
      if (!now) return failure(now.error());
      if (!*now) return {};  // its holder removed it
      if (!found_.is_silent_until(**now)) return failure(held_by(path_, **now));
      report();
    }
    if (end_ < silent_) return ended(ErrorClass::kLimit, "reached the deadline of the opening");
    if (next_line_ > kFirstLineAfter)
      log("no heartbeat of " + text_of_holder(found_) + " for " + seconds_text(verdict_.silence) +
          "; taking the dataset over");
    return {};
  }

 private:
  void log(const std::string& text) const {
    options_.log->write(LogLevel::kWarning, printable(folder_ + ": " + text));
  }

  void report() {
    const TimePoint now = options_.clock->now();
    const auto waited = now - begun_;
    if (waited < next_line_ || now >= end_) return;
    const bool is_first = next_line_ == kFirstLineAfter;
    next_line_ = is_first ? kLineEvery : next_line_ + kLineEvery;
    if (is_first)
      return log("waiting for at most " + seconds_text(end_ - begun_) + " for a heartbeat of " +
                 text_of_holder(found_) + ": " + verdict_.reason +
                 (end_ < silent_ ? "; then the opening reaches its deadline"
                                 : "; without one the dataset is taken over"));
    log("no heartbeat of " + text_of_holder(found_) + " for " + seconds_text(waited) +
        "; waiting for at most " + seconds_text(end_ - begun_ - waited) + " more");
  }

  Status ended(ErrorClass kind, const std::string& how) const {
    return failure({.kind = kind,
                    .operation = "write the dataset of",
                    .path = path_,
                    .cause = "the wait for a heartbeat of " + text_of_holder(found_) + " " + how +
                             " after " + seconds_text(options_.clock->now() - begun_) + " of " +
                             seconds_text(verdict_.silence) + "; " + verdict_.reason});
  }

  const std::string folder_;
  const std::string& path_;
  const OwnerSeen& found_;
  const Verdict& verdict_;
  const LeaseOptions& options_;
  const TimePoint begun_;
  const TimePoint silent_;
  const TimePoint end_;
  milliseconds next_line_ = kFirstLineAfter;
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

Status wait_for_end(const std::string& folder,
                    const std::string& path,
                    const OwnerSeen& found,
                    const format::Owner& self,
                    const LeaseOptions& options) {
  const Verdict verdict = judge(found, self, options);
  if (verdict.action == kRefuse) return failure(held_by(path, found));
  if (verdict.action == kWait)
    if (Status silent = SilenceWait(folder, path, found, verdict, options).run(); !silent)
      return silent;
  if (is_copy(found))
    options.log->write(LogLevel::kWarning,
                       printable(folder + " is a copy: its file `owner` was written as inode " +
                                 std::to_string(found.owner->inode) + " and is inode " +
                                 std::to_string(found.inode) + "; the lease of " +
                                 text_of_holder(found) + " is not valid here"));
  return {};
}

}  // namespace forebay::write
