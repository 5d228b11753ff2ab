// SPDX-License-Identifier: Apache-2.0
// The output streams of a Runtime, and the queues of devices that they share.
#pragma once

#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/log.hpp>
#include <forebay/output_stream.hpp>
#include <forebay/runtime.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/known_storage.hpp"
#include "storage/probe.hpp"
#include "stream/device_queues.hpp"
#include "stream/stream_core.hpp"

namespace forebay {

/// Any thread.
class Streams {
 public:
  struct Options {
    storage::BackendChoice choice = storage::BackendChoice::kAuto;  ///< for direct access
    unsigned copy_threads = 0;  ///< that write to the page cache of one device; 0: chosen
    WriterCores writer_cores = WriterCores::kApart;
    std::optional<std::string> profile = std::nullopt;  ///< as RuntimeOptions::profile
    LogSink* log = nullptr;                             ///< null: nobody listens
    const KnownStorage* storage = nullptr;              ///< outlives the streams; null: no facts
  };
  explicit Streams(const Options& options);

  /// As Runtime::output_stream().
  Result<OutputStream> open(const StreamPlan& plan, Executor& executor);

  /// The queues that all that is written shares; or why the profile or the
  /// machine of the options is no good.
  const Result<std::shared_ptr<stream::DeviceQueues>>& queues() const noexcept { return queues_; }

  /// Ends all: who still waits gets kClosed.
  void stop();

 private:
  const Options options_;
  const Result<std::shared_ptr<stream::DeviceQueues>> queues_;  ///< or why there are none
  std::mutex mutex_;
  std::vector<std::weak_ptr<stream::StreamCore>> open_;
};

}  // namespace forebay
