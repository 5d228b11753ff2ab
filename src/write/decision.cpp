// SPDX-License-Identifier: Apache-2.0
#include "write/decision.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <sys/stat.h>

#include "base/clock.hpp"
#include "comm/message_bytes.hpp"
#include "format/repair.hpp"
#include "write/fence.hpp"
#include "write/leftovers.hpp"
#include "write/plan_limits.hpp"

namespace forebay::write {

namespace {

constexpr mode_t kFolderMode = 0777;  ///< less what the umask takes

/// The lease lies in it, so it comes first. That it is durable is the publisher's concern.
Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), kFolderMode) == 0 || errno == EEXIST) return {};
  return failure(system_error({.operation = "make a dataset", .path = path}, errno));
}

/// Where a full disk has no room for the copy, what a killed writer left goes first.
Status fence(const std::string& path) {
  Status fenced = fence_commits(path);
  if (fenced || fenced.error().kind() != ErrorClass::kNoSpace) return fenced;
  const auto publisher = Publisher::open(path);
  if (!publisher) return failure(publisher.error());
  if ((*publisher)->may_remove_others())
    remove_leftovers(path, (*publisher)->steps(), std::numeric_limits<std::uint64_t>::max());
  return fence_commits(path);
}

/// What the damaged slot said of a step, as far as files show it; nothing if they show nothing.
std::optional<std::string> lost_word(const format::RepairedStep& step) {
  if (step.fate == format::RepairedStep::Fate::kRecovered)
    return " is complete in its files, but a slot of commits is damaged and no longer names it; "
           "run `forebay repair` to recover it, or remove its files to discard it";
  if (step.fate == format::RepairedStep::Fate::kDropped)
    return " was dropped, but the slot of commits that said so is damaged; run `forebay repair`";
  return std::nullopt;
}

/// Writing on would overwrite the damaged slot, the last trace of its step, and remove the files of
/// that step; or it would name steps again that the slot had dropped. A crash can leave such a slot
/// of a step that was never acknowledged, and so can a bit that flipped later in one that was. The
/// files do not show which, so the user must decide.
Status check_damages(const Publisher& publisher, const std::string& path, LogSink* log) {
  if (publisher.damages().empty()) return {};
  for (const Error& damage : publisher.damages())
    if (log != nullptr) log->write(LogLevel::kWarning, path + ": " + damage.message());
  const auto plan = format::plan_repair(path);
  if (!plan) return failure(plan.error());
  for (const format::RepairedStep& step : plan->report.steps)
    if (const auto word = lost_word(step))
      return failure({.kind = ErrorClass::kDamage,
                      .operation = "open for writing",
                      .path = path,
                      .cause = "step " + std::to_string(step.step) + *word});
  return {};
}

/// The other ranks wait for the first one, so the wait for a former writer has an end.
LeaseOptions lease_options(LogSink* log) {
  LeaseOptions options;
  options.deadline = SteadyClock::shared().now() + kStallMax;
  if (log != nullptr) options.log = log;
  return options;
}

}  // namespace

Result<Decision> decide(const std::string& path,
                        const WriteFacts& facts,
                        const WritePlan& wanted,
                        LogSink* log) {
  auto plan = plan_write(facts, wanted);
  if (!plan) return failure(located(plan.error(), path));
  Decision decision{.path = path, .plan = std::move(*plan)};
  if (const Status made = make_folder(path); !made) return failure(made.error());
  auto lease = Lease::acquire(path, this_process(), lease_options(log));
  if (!lease) return failure(lease.error());
  decision.lease = std::move(*lease);
  if (const Status fenced = fence(path); !fenced) return failure(fenced.error());
  auto publisher = Publisher::open(path);
  if (!publisher) return failure(publisher.error());
  const Status sound = check_damages(**publisher, path, log);
  if (!sound) return failure(sound.error());
  decision.publisher = std::move(*publisher);
  Found& found = decision.found;
  found.lease = decision.lease->owner().nonce;
  const auto first_group = claim_groups(path, decision.publisher->steps());
  if (!first_group) return failure(first_group.error());
  // Whoever took the lease over before may have claimed the same.
  if (const Status is_mine = decision.lease->check(); !is_mine) return failure(is_mine.error());
  found.first_group = *first_group;
  if (decision.publisher->may_remove_others())
    remove_leftovers(path, decision.publisher->steps(), found.first_group);
  found.dataset = decision.publisher->dataset();
  if (decision.publisher->steps().empty()) return decision;
  const format::StepEntry& newest = decision.publisher->steps().back();
  found.newest_step = newest.step;
  found.has_steps = true;
  found.newest_bytes = newest.stored_bytes;
  if (!facts.step_bytes.empty()) return decision;
  // As large as the last one, by however many ranks it was written.
  WriteFacts known = facts;
  known.step_bytes = {(newest.raw_bytes + facts.crew.computing() - 1) / facts.crew.computing()};
  if (known.step_bytes.front() == 0) return decision;
  plan = plan_write(known, wanted);
  if (!plan) return failure(located(plan.error(), path));
  decision.plan = std::move(*plan);
  return decision;
}

/// A plan travels as the text that people write; its reason with it.
comm::Bytes bytes_of(const Decision& decision) {
  const Found& found = decision.found;
  comm::MessageWriter out;
  out.list(std::span<const std::byte>(found.dataset));
  out.number(found.first_group);
  out.number(found.newest_step);
  out.number(found.newest_bytes);
  out.flag(found.has_steps);
  out.number(found.lease);
  out.text(decision.path);
  out.text(to_toml(decision.plan));
  return std::move(out).take();
}

Result<Decision> decision_from(std::span<const std::byte> bytes) {
  comm::MessageReader in("decision", bytes);
  Decision decision;
  Found& found = decision.found;
  const auto dataset = in.bytes("dataset");
  if (dataset.size() != found.dataset.size())
    in.reject("dataset", dataset.size(), "must have 16 bytes");
  if (in.is_well()) std::ranges::copy(dataset, found.dataset.begin());
  found.first_group = in.number<std::uint64_t>("first group");
  found.newest_step = in.number<std::uint64_t>("newest step");
  found.newest_bytes = in.number<std::uint64_t>("newest bytes");
  found.has_steps = in.flag("has steps");
  found.lease = in.number<std::uint64_t>("lease");
  decision.path = in.text("path");
  const std::string text = in.text("plan");
  if (Status whole = in.end(); !whole) return failure(whole.error());
  auto plan = write_plan_from(text, decision.path);
  if (!plan) return failure(plan.error());
  decision.plan = std::move(*plan);
  return decision;
}

}  // namespace forebay::write
