// SPDX-License-Identifier: Apache-2.0
// Storage that fails at a test's command: a mount of forebay-emufs, which ends with the test's
// process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/testing.hpp"

namespace forebay::faults {

/// Call private_mounts_unavailable_reason() first.
class EmulatedStorage {
 public:
  struct Setup {
    std::string record = {};   ///< records all changes and syncs in this file; empty: no recording
    std::string machine = {};  ///< a machine file; empty: one server without delays
    std::string backing = {};  ///< the directory to mount; empty: a new one
    std::uint32_t clients = 1;
  };
  explicit EmulatedStorage(const Setup& setup);
  EmulatedStorage() : EmulatedStorage(Setup()) {}
  ~EmulatedStorage();
  EmulatedStorage(const EmulatedStorage&) = delete;
  EmulatedStorage& operator=(const EmulatedStorage&) = delete;

  /// Why it could not be mounted; empty if it is mounted.
  const std::string& unavailable_reason() const { return unavailable_reason_; }
  std::string operator/(const std::string& name) const { return mount_point_ + "/" + name; }
  const std::string& path() const { return mount_point_; }
  /// The mount point of one of several clients.
  std::string client(std::size_t number) const { return clients_.at(number); }
  /// The same file in the backing directory, past the mount and its page cache.
  std::string backing_path(const std::string& name) const { return backing_ + "/" + name; }

  /// Injects EIO for writes to bytes of this file, which must exist, from this offset on.
  void inject_write_errors(const std::string& name, std::uint64_t offset_bytes);
  /// Injects EIO for each sync of this file or directory, which must exist; nothing else fails.
  void inject_sync_errors(const std::string& name);
  /// Injects EDQUOT for writes that would extend a file of this user beyond the quota.
  void set_quota(std::uint64_t size_bytes);
  /// Data requests wait during its lifetime. A test must end it before objects that wait for these
  /// requests.
  class [[nodiscard]] Stall {
   public:
    explicit Stall(EmulatedStorage& storage);
    ~Stall();
    Stall(const Stall&) = delete;
    Stall& operator=(const Stall&) = delete;

   private:
    EmulatedStorage& storage_;
  };
  /// Ends all faults, and completes waiting requests.
  void clear_faults();
  /// Number of data requests that wait for an answer.
  std::uint64_t requests_in_flight() const;
  /// Returns when a data request waits; false after a minute.
  bool wait_for_requests() const;

 private:
  std::string mount(const Setup& setup);
  void command(const std::string& fault) const;

  const TemporaryDirectory directory_;
  const std::string mount_point_;
  const std::string backing_;
  pid_t process_ = -1;
  std::vector<std::string> clients_;
  std::string unavailable_reason_;
};

}  // namespace forebay::faults
