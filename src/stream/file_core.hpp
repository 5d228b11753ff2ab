// SPDX-License-Identifier: Apache-2.0
// FileCore: one file of one stream: what it was asked to be, where its parcels go, and whether it
// has its name yet.
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
#include "stream/parcel.hpp"
#include "stream/target.hpp"

namespace forebay::stream {

/// A queue that a stream writes to, and its account there.
struct Lane {
  Lane(std::shared_ptr<DeviceQueue> its_queue,
       Client& client,
       std::span<std::byte> arena,
       const AccountLimits& limits)
      : queue(std::move(its_queue)), account(client, arena, limits) {}

  const std::shared_ptr<DeviceQueue> queue;
  Account account;
  // For the report:
  std::string path;
  Access access = Access::kBuffered;
  std::string reason;
};

class FileCore {
 public:
  struct Setup {
    std::string path;  ///< as the user named it
    /// With Publication::kWhenComplete: the file that is written.
    std::optional<TemporaryFile> temporary = std::nullopt;
    std::uint32_t number = 0;
    OutputPlan plan;
    Publication publication = Publication::kAtOnce;
    std::uint64_t reserved_bytes = 0;  ///< as in Opened
  };
  FileCore(Setup setup, Lane& lane, std::shared_ptr<Target> target);
  FileCore(const FileCore&) = delete;
  FileCore& operator=(const FileCore&) = delete;

  const std::string& path() const noexcept { return setup_.path; }
  const std::string& written_path() const noexcept {
    return setup_.temporary ? setup_.temporary->path() : setup_.path;
  }
  std::uint32_t number() const noexcept { return setup_.number; }
  const OutputPlan& plan() const noexcept { return setup_.plan; }
  Lane& lane() const noexcept { return lane_; }
  Target& target() const noexcept { return *target_; }

  /// Gives the synced file its name, if it has not got it, and makes the name durable. kClosed if
  /// that was done before and cannot be done twice.
  Status publish();
  /// Makes the name that it was created under durable, if it has it already.
  Status sync_created_name() {
    return setup_.publication == Publication::kAtOnce ? sync_name() : Status();
  }

 private:
  Status sync_name();
  Status free_reserve();

  Setup setup_;
  Lane& lane_;
  const std::shared_ptr<Target> target_;
  std::mutex publishing_;
  std::atomic<bool> name_is_durable_{false};
};

}  // namespace forebay::stream
