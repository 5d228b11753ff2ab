// SPDX-License-Identifier: Apache-2.0
// Sessions that a rank reads for itself: those of files that a user opens, where nobody reads for
// the whole node, and all of those on the data files of a dataset.
#pragma once

#include <forebay/session.hpp>

#include <memory>

#include "read/core.hpp"
#include "runtime/runtime_core.hpp"
#include "runtime/way.hpp"

namespace forebay {

using SharedSession = std::shared_ptr<read::SessionCore>;

/// What a session is opened for.
struct SessionRequest {
  ByteRange extent;
  const ReadPlan& plan;
  SessionHandle handle;
};

/// A session that is read by this rank. Nobody has been told of it yet: see SessionRegistry.
Result<SharedSession> own_session(RuntimeCore& runtime, Way way, const SessionRequest& request);

}  // namespace forebay
