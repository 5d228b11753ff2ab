// SPDX-License-Identifier: Apache-2.0
#include "stream/opening.hpp"

#include <utility>

#include "storage/file.hpp"
#include "storage/file_system.hpp"
#include "stream/write_access.hpp"

namespace forebay::stream {

namespace {

using FilePointer = std::unique_ptr<storage::File>;

tl::unexpected<Error> in_use(const std::string& path, std::string cause) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "create",
                  .path = path,
                  .cause = std::move(cause)});
}

/// A file that somebody of this Runtime is writing.
Result<Opened> join(const std::string& path,
                    const CreateOptions& options,
                    const StreamPlan& plan,
                    std::shared_ptr<Target> target) {
  if (options.existing == Existing::kReplace)
    return in_use(path, "this Runtime is writing it already; Existing::kKeep would join in");
  const storage::File& file = target->file();
  if (plan.access && *plan.access != file.access()) {
    return in_use(path, "this Runtime is writing it already, and in the other way: " +
                            std::string(name_of(file.access())));
  }
  const OutputFacts facts{
      .access = file.access(),
      .access_reason = std::string(name_of(file.access())) + ": as it is being written already"};
  return Opened{std::move(target), plan_output(facts, plan)};
}

/// What is in the file and stays there.
Result<std::uint64_t> kept_bytes(const storage::File& file, Existing existing) {
  return existing == Existing::kKeep ? file.size() : Result<std::uint64_t>(0);
}

/// Once nothing else can go wrong, and nobody else can have begun to write.
Status empty_unless_kept(storage::File& file, Existing existing) {
  if (existing == Existing::kKeep) return {};
  const auto size = file.size();
  if (!size) return failure(size.error());
  return *size == 0 ? Status() : file.truncate(0);
}

/// The same file for direct access, if that suits it or if the plan gives it; else null.
Result<FilePointer> open_direct(const storage::File& buffered,
                                const StreamPlan& plan,
                                const WriteFacts& known,
                                OutputFacts& facts) {
  facts.access = plan.access.value_or(Access::kBuffered);
  if (plan.access == Access::kBuffered) return nullptr;
  auto direct =
      storage::reopen(buffered, {.intent = storage::Intent::kWrite, .access = Access::kDirect});
  if (plan.access == Access::kDirect) return direct;
  WriteFacts found = known;
  found.direct_works = direct.has_value();
  storage::AccessDecision decision = choose_write_access(found);
  facts.access = decision.access;
  facts.access_reason = std::move(decision.reason);
  if (decision.access == Access::kDirect) return direct;
  return nullptr;
}

bool is_shared(const CreateOptions& options) {
  return options.existing == Existing::kKeep || options.writers == Writers::kOtherProcesses;
}

/// Other processes may write to the file at the same time. The queue reserves nothing: that makes
/// the file longer, and to return the space later could cut off what they wrote.
void share(Target::Setup& setup, OutputPlan& plan, const CreateOptions& options) {
  setup.length = Length::kLeftAlone;
  setup.preallocation = Preallocation::kNone;
  const bool reserves = options.existing == Existing::kReplace && options.expected_bytes > 0 &&
                        plan.preallocation != Preallocation::kNone;
  plan.preallocation = reserves ? Preallocation::kExpected : Preallocation::kNone;
}

/// Of a shared file, which is empty yet: its size stays what processes write.
Status reserve(storage::File& file, Opened& opened, std::uint64_t expected_bytes) {
  const Status reserved = file.reserve({0, expected_bytes});
  if (reserved) {
    opened.reserved_bytes = expected_bytes;
    return {};
  }
  if (reserved.error().kind() != ErrorClass::kUnsupported) {
    static_cast<void>(file.truncate(0));  // frees what the file system reserved before it failed
    return reserved;
  }
  opened.plan.preallocation = Preallocation::kNone;
  return {};
}

}  // namespace

Result<Opened> open_output(const std::string& path,
                           const CreateOptions& options,
                           const StreamPlan& plan,
                           DeviceQueues& queues) {
  auto buffered = storage::open_file(path, {.intent = storage::Intent::kCreate});
  if (!buffered) return failure(buffered.error());
  const storage::FileIdentity identity = storage::identity_of(**buffered);
  if (auto target = queues.find(identity)) return join(path, options, plan, std::move(target));
  const auto kept = kept_bytes(**buffered, options.existing);
  if (!kept) return failure(kept.error());
  const std::shared_ptr<Budget> budget = queues.budget_of(**buffered);
  const auto file_system = (*buffered)->file_system();
  OutputFacts facts{.in_memory = file_system == storage::FileSystem::kTmpfs,
                    .expected_bytes = options.expected_bytes,
                    .in_flight_bytes = budget->limit_bytes(),
                    .in_flight_reason = budget->reason(),
                    .busy_bytes = budget->busy_bytes()};
  const bool is_cached = (*buffered)->cached_fraction({0, *kept}).value_or(0) > 0;
  auto direct = open_direct(**buffered, plan,
                            {.file_system = file_system,
                             .expected_bytes = options.expected_bytes,
                             .is_cached = is_cached},
                            facts);
  if (!direct) return failure(direct.error());
  Opened opened{.target = nullptr, .plan = plan_output(facts, plan)};
  Target::Setup setup{.file = std::move(*buffered),
                      .exact_file = nullptr,
                      .preallocation = opened.plan.preallocation,
                      .size_bytes = *kept,
                      .expected_bytes = options.expected_bytes};
  if (*direct) setup.exact_file = std::exchange(setup.file, std::move(*direct));
  if (is_shared(options)) share(setup, opened.plan, options);
  opened.target = std::make_shared<Target>(std::move(setup));
  if (!queues.enlist(identity, opened.target))
    return in_use(path, "another thread of this program opened it at the same moment");
  storage::File& file = opened.target->file();
  if (const Status empty = empty_unless_kept(file, options.existing); !empty)
    return failure(empty.error());
  const bool reserves = is_shared(options) && opened.plan.preallocation != Preallocation::kNone;
  if (!reserves) return opened;
  if (const Status reserved = reserve(file, opened, options.expected_bytes); !reserved)
    return failure(reserved.error());
  return opened;
}

}  // namespace forebay::stream
