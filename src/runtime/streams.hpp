// SPDX-License-Identifier: Apache-2.0
// Streams: the output streams of a Runtime, and the device queues that they share.
#pragma once

#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/log.hpp>
#include <forebay/output_stream.hpp>
#include <forebay/runtime.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/storage_info.hpp"
#include "storage/probe.hpp"
#include "stream/device_queues.hpp"
#include "stream/stream_core.hpp"

namespace forebay {

/// Thread-safe.
class Streams {
 public:
  struct Options {
    BackendChoice choice = BackendChoice::kAuto;  ///< for direct access
    unsigned copy_threads = 0;  ///< threads that write to the page cache of one device; 0: chosen
    WriteThreadAffinity write_thread_affinity = WriteThreadAffinity::kSeparate;
    std::optional<std::string> profile = std::nullopt;  ///< as RuntimeOptions::profile
    LogSink* log = nullptr;                             ///< null: no logging
    const StorageInfoSource* storage = nullptr;         ///< outlives the streams; null: no facts
    /// As DeviceQueues::Options::on_written.
    std::function<void(const storage::FileIdentity&, ByteRange)> on_written = {};
  };
  explicit Streams(const Options& options);

  /// As Runtime::create_output_stream().
  Result<OutputStream> open(const StreamPlan& plan, Executor& executor);

  /// The queues that all writes share, or the Error of the profile or of the machine of the
  /// options.
  const Result<std::shared_ptr<stream::DeviceQueues>>& queues() const noexcept { return queues_; }

  /// Ends all streams: waiting threads get kClosed.
  void stop();

 private:
  const Options options_;
  const Result<std::shared_ptr<stream::DeviceQueues>> queues_;  ///< or the Error
  std::mutex mutex_;
  std::vector<std::weak_ptr<stream::StreamCore>> open_;
};

}  // namespace forebay
