// SPDX-License-Identifier: Apache-2.0
// FileCore: one file of one stream: its options, the device of its submissions, and whether it has
// its final name.
#pragma once

#include <forebay/error.hpp>
#include <forebay/output_stream.hpp>
#include <forebay/stream_plan.hpp>
#include <forebay/temporary_file.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "stream/device_queue.hpp"
#include "stream/output_file_state.hpp"
#include "stream/submission.hpp"

namespace forebay::stream {

/// A queue to which a stream writes, and the stream's state there.
struct StreamDevice {
  StreamDevice(std::shared_ptr<DeviceQueue> its_queue,
               QueueClient& client,
               std::span<std::byte> arena,
               const ClientLimits& limits)
      : queue(std::move(its_queue)), client_state(client, arena, limits) {}

  const std::shared_ptr<DeviceQueue> queue;
  ClientState client_state;
  // For the report:
  std::string path;
  Access access = Access::kBuffered;
  std::string reason;
};

class FileCore {
 public:
  struct Setup {
    std::string path;  ///< as the user named it
    /// With FileVisibility::kOnPublish: the file that is written.
    std::optional<TemporaryFile> temporary = std::nullopt;
    std::uint32_t number = 0;
    OutputPlan plan;
    FileVisibility publication = FileVisibility::kImmediate;
    std::uint64_t reserved_bytes = 0;  ///< as in OpenedOutput
  };
  FileCore(Setup setup, StreamDevice& device, std::shared_ptr<OutputFileState> file_state);
  FileCore(const FileCore&) = delete;
  FileCore& operator=(const FileCore&) = delete;

  const std::string& path() const noexcept { return setup_.path; }
  const std::string& write_path() const noexcept {
    return setup_.temporary ? setup_.temporary->path() : setup_.path;
  }
  std::uint32_t number() const noexcept { return setup_.number; }
  const OutputPlan& plan() const noexcept { return setup_.plan; }
  StreamDevice& device() const noexcept { return device_; }
  OutputFileState& file_state() const noexcept { return *file_state_; }

  /// Renames the synced file to its final name, if it does not have it yet, and makes the name
  /// durable. kClosed if that was done before and cannot be repeated.
  Status publish();
  /// Makes the name of creation durable, if that is the final name.
  Status sync_created_name() {
    return setup_.publication == FileVisibility::kImmediate ? sync_name() : Status();
  }

 private:
  Status sync_name();
  Status free_excess_space();

  Setup setup_;
  StreamDevice& device_;
  const std::shared_ptr<OutputFileState> file_state_;
  std::mutex publish_mutex_;
  std::atomic<bool> is_name_durable_{false};
};

}  // namespace forebay::stream
