// SPDX-License-Identifier: Apache-2.0
#include "runtime/own_session.hpp"

#include <utility>

#include "read/host.hpp"

namespace forebay {

Result<SharedSession> own_session(RuntimeCore& runtime, Way way, const SessionRequest& request) {
  const auto turn = runtime.take_turn();
  ReadFacts facts{.extent = request.extent,
                  .access = way.access,
                  .access_reason = way.reason,
                  .cached = way.cached,
                  .alignment_bytes = way.file->alignment_bytes(),
                  .available_bytes = runtime.windows()->available_bytes(),
                  .total_bytes = runtime.windows()->budget_bytes()};
  if (auto known = runtime.storage().add_to(facts, *way.file); !known)
    return failure(known.error());
  auto complete = plan_read(facts, request.plan);
  if (!complete) return failure(complete.error());
  auto agent = runtime.agent_for(*complete->access);
  if (!agent) return failure(agent.error());
  auto host = read::SessionHost::open({.file = std::move(way.file),
                                       .extent = request.extent,
                                       .plan = std::move(*complete),
                                       .windows = runtime.windows(),
                                       .agent = *agent,
                                       .executor = &runtime.executor(),
                                       .cached = way.cached,
                                       .handle = request.handle});
  if (!host) return failure(host.error());
  (*agent)->serve(*host);
  return *host;
}

}  // namespace forebay
