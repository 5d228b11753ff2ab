// SPDX-License-Identifier: Apache-2.0
#include "runtime/open_local_session.hpp"

#include <utility>

#include "read/local_session.hpp"
#include "runtime/open_tuned_session.hpp"

namespace forebay {

Result<ReadFacts> facts_for_session(const RuntimeCore& runtime,
                                    const AccessMethod& method,
                                    ByteRange extent) {
  ReadFacts facts{.extent = extent,
                  .access = method.access,
                  .access_reason = method.reason,
                  .is_cached = method.cached,
                  .alignment_bytes = method.file->alignment_bytes(),
                  .available_bytes = runtime.windows()->available_bytes(),
                  .total_bytes = runtime.windows()->budget_bytes()};
  if (auto known = runtime.storage().add_facts(facts, *method.file); !known)
    return failure(known.error());
  return facts;
}

Result<ReadPlan> plan_with_access(const ReadFacts& facts, ReadPlan requested) {
  requested.access.reset();
  return plan_read(facts, requested);
}

Result<SessionPtr> open_local_session(RuntimeCore& runtime,
                                      const AccessMethod& method,
                                      const SessionRequest& request) {
  const auto lock = runtime.lock_opening();
  const auto facts = facts_for_session(runtime, method, request.extent);
  if (!facts) return failure(facts.error());
  auto complete = plan_with_access(*facts, request.plan);
  if (!complete) return failure(complete.error());
  auto agent =
      runtime.agent_for(*complete->access, method.cached ? Mode::kDeclared : complete->mode);
  if (!agent) return failure(agent.error());
  auto host = read::LocalSession::open({.file = method.file,
                                        .extent = request.extent,
                                        .plan = std::move(*complete),
                                        .windows = runtime.windows(),
                                        .agent = *agent,
                                        .executor = &runtime.executor(),
                                        .is_cached = method.cached,
                                        .handle = request.handle});
  if (!host) return failure(host.error());
  (*agent)->notify(*host);
  return *host;
}

Result<std::shared_ptr<PreparedFile>> prepare_file(RuntimeCore& runtime,
                                                   const std::string& path,
                                                   const ReadPlan& requested) {
  // The other half is for sessions that the program opens.
  if (runtime.windows()->available_bytes() <= runtime.windows()->budget_bytes() / 2) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "open ahead",
                    .path = path,
                    .cause = "no memory"});
  }
  const std::optional<FileVersion> version = version_of(path);
  auto opened = storage::open_file(path);
  if (!opened) return failure(opened.error());
  std::shared_ptr<storage::File> file = std::move(*opened);
  const auto size = file->size();
  if (!size) return failure(size.error());
  const ByteRange extent{0, *size};
  auto method =
      choose_access_method(file, {extent, requested.access, requested.mode}, runtime.storage());
  if (!method) return failure(method.error());
  auto session = open_tuned_session(
      runtime, method, {extent, requested, runtime.registry().next_handle()}, open_local_session);
  if (!session) return failure(session.error());
  runtime.observe(*session);
  return std::make_shared<PreparedFile>(file, version.value_or(FileVersion()), requested, *session);
}

}  // namespace forebay
