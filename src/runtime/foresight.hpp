// SPDX-License-Identifier: Apache-2.0
// Foresight: what the sessions of a Runtime share for prediction: the hints of a file, and the
// recorder of a trace. It gives each session its observer.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "push/learned_hints.hpp"
#include "push/named_functions.hpp"
#include "read/session_core.hpp"
#include "trace/trace_recorder.hpp"

namespace forebay {

class Foresight {
 public:
  /// Reads the hint file and begins the trace that the options name. `rank` is that of a Runtime
  /// with several ranks; those with Role::kIo, which have no sessions, record nothing. See
  /// status().
  Foresight(const RuntimeOptions& options, std::optional<std::uint32_t> rank, Role role);

  /// The Error of the hint file or of the trace.
  const Status& status() const noexcept { return status_; }
  const std::shared_ptr<push::NamedFunctions>& functions() const noexcept { return functions_; }
  /// Sets the observer of a session, if it needs one. Call it before any other thread uses the
  /// session.
  void observe(read::SessionCore& session);
  /// Ends the trace and writes what was learned. The Error is that of the first write that failed.
  /// Later requests are not recorded. Once.
  Status stop();
  /// Records that were dropped, after stop().
  std::uint64_t lost_records() const noexcept { return recorder_ ? recorder_->lost_records() : 0; }

 private:
  Status read_hints(const RuntimeOptions& options);
  Status start_trace(const std::string& path, std::optional<std::uint32_t> rank);

  LogSink* const log_;
  const std::shared_ptr<push::NamedFunctions> functions_;
  std::vector<push::FileHint> hints_;
  std::string learned_path_;
  std::vector<push::FileHint> profile_;          ///< learned by earlier runs
  std::shared_ptr<push::LearnedHints> learned_;  ///< null without learned_path_
  std::shared_ptr<trace::TraceRecorder> recorder_;
  Status status_;
};

}  // namespace forebay
