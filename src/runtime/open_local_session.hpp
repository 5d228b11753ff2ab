// SPDX-License-Identifier: Apache-2.0
// open_local_session(): sessions that a rank reads for its own use. These are sessions on files of
// the user, unless an agent reads for the whole node, and all sessions on data files of a dataset.
#pragma once

#include <forebay/session.hpp>

#include <memory>
#include <string>

#include "read/plan.hpp"
#include "read/session_core.hpp"
#include "runtime/access_method.hpp"
#include "runtime/file_series.hpp"
#include "runtime/runtime_core.hpp"

namespace forebay {

using SessionPtr = std::shared_ptr<read::SessionCore>;

/// The arguments of an opening session.
struct SessionRequest {
  ByteRange extent;
  const ReadPlan& plan;
  SessionHandle handle;
};

/// What is known for the plan of a session that this rank reads.
Result<ReadFacts> facts_for_session(const RuntimeCore& runtime,
                                    const AccessMethod& method,
                                    ByteRange extent);

/// As plan_read(), for the access of `facts`, which was chosen before, with its reason.
Result<ReadPlan> plan_with_access(const ReadFacts& facts, ReadPlan requested);

/// Opens a session that this rank reads, without ReadPlan::tune: see open_tuned_session(). It is
/// not registered yet: see SessionRegistry.
Result<SessionPtr> open_local_session(RuntimeCore& runtime,
                                      const AccessMethod& method,
                                      const SessionRequest& request);

/// For FileSeries: opens a file and a session on the whole of it. This process alone. Fails with
/// kLimit if sessions use half of the Runtime's budget.
Result<std::shared_ptr<PreparedFile>> prepare_file(RuntimeCore& runtime,
                                                   const std::string& path,
                                                   const ReadPlan& requested);

}  // namespace forebay
