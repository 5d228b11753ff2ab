// SPDX-License-Identifier: Apache-2.0
#include "stream/open_output.hpp"

#include <utility>

#include "storage/file.hpp"
#include "storage/file_system.hpp"
#include "stream/plan.hpp"
#include "stream/write_access.hpp"

namespace forebay::stream {

namespace {

using FilePointer = std::unique_ptr<storage::File>;

tl::unexpected<Error> in_use_error(const std::string& path, std::string cause) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "create",
                  .path = path,
                  .cause = std::move(cause)});
}

/// Joins a file that another stream of this Runtime is writing.
Result<OpenedOutput> join_open_file(const std::string& path,
                                    const OutputFileOptions& options,
                                    const StreamPlan& plan,
                                    std::shared_ptr<OutputFileState> file_state) {
  if (options.existing_content == ExistingContent::kReplace)
    return in_use_error(
        path, "this Runtime is writing it already; keep its content to write it together");
  const storage::File& file = file_state->file();
  if (plan.access && *plan.access != file.access()) {
    return in_use_error(path, "this Runtime is writing it already, with the other access method: " +
                                  std::string(name_of(file.access())));
  }
  const OutputFacts facts{
      .access = file.access(),
      .access_reason = std::string(name_of(file.access())) + ": as it is already being written"};
  return OpenedOutput{std::move(file_state), plan_output(facts, plan)};
}

/// Size of the content that is kept.
Result<std::uint64_t> kept_bytes(const storage::File& file, ExistingContent existing) {
  return existing == ExistingContent::kKeep ? file.size() : Result<std::uint64_t>(0);
}

/// Called once no other step can fail, and no other stream can have begun to write.
Status truncate_unless_kept(storage::File& file, ExistingContent existing) {
  if (existing == ExistingContent::kKeep) return {};
  const auto size = file.size();
  if (!size) return failure(size.error());
  return *size == 0 ? Status() : file.truncate(0);
}

/// The same file with direct access, if that suits it or the plan requests it; else null.
Result<FilePointer> open_direct(const storage::File& buffered,
                                const StreamPlan& plan,
                                const WriteAccessFacts& known,
                                OutputFacts& facts) {
  facts.access = plan.access.value_or(Access::kBuffered);
  if (plan.access == Access::kBuffered) return nullptr;
  auto direct =
      storage::reopen(buffered, {.intent = storage::Intent::kWrite, .access = Access::kDirect});
  if (plan.access == Access::kDirect) return direct;
  WriteAccessFacts updated = known;
  updated.is_direct_supported = direct.has_value();
  storage::AccessDecision decision = choose_write_access(updated);
  facts.access = decision.access;
  facts.access_reason = std::move(decision.reason);
  if (decision.access == Access::kDirect) return direct;
  return nullptr;
}

bool is_shared(const OutputFileOptions& options) {
  return options.existing_content == ExistingContent::kKeep ||
         options.sharing == FileSharing::kShared;
}

/// Other processes may write to the file at the same time. The queue reserves nothing: that would
/// extend the file, and freeing the space later could cut off bytes of other processes.
void configure_shared(OutputFileState::Setup& setup,
                      OutputPlan& plan,
                      const OutputFileOptions& options) {
  setup.size_policy = SizePolicy::kNeverTruncate;
  setup.preallocation = Preallocation::kNone;
  const bool reserves = options.existing_content == ExistingContent::kReplace &&
                        options.expected_bytes > 0 && plan.preallocation != Preallocation::kNone;
  plan.preallocation = reserves ? Preallocation::kExpected : Preallocation::kNone;
}

/// For a shared, still empty file: its size remains what processes write.
Status reserve_space(storage::File& file, OpenedOutput& opened, std::uint64_t expected_bytes) {
  const Status reserved = file.reserve({0, expected_bytes});
  if (reserved) {
    opened.reserved_bytes = expected_bytes;
    return {};
  }
  if (reserved.error().kind() != ErrorClass::kUnsupported) {
    static_cast<void>(file.truncate(0));  // frees the part that the file system reserved before it
                                          // failed
    return reserved;
  }
  opened.plan.preallocation = Preallocation::kNone;
  return {};
}

}  // namespace

Result<OpenedOutput> open_output(const std::string& path,
                                 const OutputFileOptions& options,
                                 const StreamPlan& plan,
                                 DeviceQueues& queues) {
  auto buffered = storage::open_file(path, {.intent = storage::Intent::kCreate});
  if (!buffered) return failure(buffered.error());
  const storage::FileIdentity identity = storage::identity_of(**buffered);
  if (auto file_state = queues.find(identity))
    return join_open_file(path, options, plan, std::move(file_state));
  const auto kept = kept_bytes(**buffered, options.existing_content);
  if (!kept) return failure(kept.error());
  const std::shared_ptr<InFlightBudget> budget = queues.budget_of(**buffered);
  const auto file_system = (*buffered)->file_system();
  OutputFacts facts{.is_in_memory = file_system == storage::FileSystem::kTmpfs,
                    .expected_bytes = options.expected_bytes,
                    .in_flight_bytes = budget->limit_bytes(),
                    .in_flight_reason = budget->reason(),
                    .saturation_bytes = budget->saturation_bytes()};
  const bool is_cached = (*buffered)->cached_fraction({0, *kept}).value_or(0) > 0;
  auto direct = open_direct(**buffered, plan,
                            {.file_system = file_system,
                             .expected_bytes = options.expected_bytes,
                             .is_cached = is_cached},
                            facts);
  if (!direct) return failure(direct.error());
  OpenedOutput opened{.file_state = nullptr, .plan = plan_output(facts, plan)};
  OutputFileState::Setup setup{.file = std::move(*buffered),
                               .unaligned_file = nullptr,
                               .preallocation = opened.plan.preallocation,
                               .size_bytes = *kept,
                               .expected_bytes = options.expected_bytes};
  if (*direct) setup.unaligned_file = std::exchange(setup.file, std::move(*direct));
  if (queues.options().on_written) {
    setup.on_written = [call = queues.options().on_written, identity](ByteRange range) {
      call(identity, range);
    };
  }
  if (is_shared(options)) configure_shared(setup, opened.plan, options);
  opened.file_state = std::make_shared<OutputFileState>(std::move(setup));
  if (!queues.register_file(identity, opened.file_state))
    return in_use_error(path, "another thread of this program opened it at the same time");
  storage::File& file = opened.file_state->file();
  if (const Status empty = truncate_unless_kept(file, options.existing_content); !empty)
    return failure(empty.error());
  if (opened.file_state->on_written && *kept == 0) opened.file_state->on_written({0, kAll});
  const bool reserves = is_shared(options) && opened.plan.preallocation != Preallocation::kNone;
  if (!reserves) return opened;
  if (const Status reserved = reserve_space(file, opened, options.expected_bytes); !reserved)
    return failure(reserved.error());
  return opened;
}

}  // namespace forebay::stream
