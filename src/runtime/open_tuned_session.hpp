// SPDX-License-Identifier: Apache-2.0
// open_tuned_session(): opens a session with the plan that its loop tries (ReadPlan::tune). If
// ranks could share agents, the first rank decides and measures for all of them.
#pragma once

#include <functional>

#include "runtime/open_local_session.hpp"

namespace forebay {

/// Opens a session by the plan of the request, without ReadPlan::tune.
using SessionOpener =
    std::function<Result<SessionPtr>(RuntimeCore&, const AccessMethod&, const SessionRequest&)>;

/// With ReadPlan::tune, opens by a plan that is tried, or, if that fails, by the one of the
/// request. Returns the Error of `method`, if it is one. If ranks can share agents, and the plan
/// does not set kPerRank, the call is collective, also with such an Error: the first rank sends its
/// choice by one broadcast. If that fails, the plan of the request applies.
Result<SessionPtr> open_tuned_session(RuntimeCore& runtime,
                                      const Result<AccessMethod>& method,
                                      const SessionRequest& request,
                                      const SessionOpener& open);

}  // namespace forebay
