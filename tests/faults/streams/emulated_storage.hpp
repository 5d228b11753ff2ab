// SPDX-License-Identifier: Apache-2.0
// Storage that fails when a test says so: a mount of forebay-emufs, which ends with
// the test's process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/testing.hpp"

namespace forebay::faults {

/// Call reason_against_own_mounts() first.
class EmulatedStorage {
 public:
  struct Setup {
    std::string record = {};   ///< all changes and syncs are kept in this file; empty: they are not
    std::string machine = {};  ///< a machine file; empty: one server without delays
    std::string backing = {};  ///< the folder to mount; empty: one of its own
    std::uint32_t clients = 1;
  };
  explicit EmulatedStorage(const Setup& setup);
  EmulatedStorage() : EmulatedStorage(Setup()) {}
  ~EmulatedStorage();
  EmulatedStorage(const EmulatedStorage&) = delete;
  EmulatedStorage& operator=(const EmulatedStorage&) = delete;

  /// Why it could not be mounted; empty if it is there.
  const std::string& reason_against() const { return reason_against_; }
  std::string operator/(const std::string& name) const { return point_ + "/" + name; }
  const std::string& path() const { return point_; }
  /// The folder as one of several clients sees it.
  std::string client(std::size_t number) const { return clients_.at(number); }
  /// The same file where it really lies, past the mount and its page cache.
  std::string behind(const std::string& name) const { return backing_ + "/" + name; }

  /// EIO from writes that touch bytes of this file, which is there, from this offset on.
  void break_writes(const std::string& name, std::uint64_t offset_bytes);
  /// EIO from each sync of this file or folder, which is there; nothing else fails.
  void break_syncs(const std::string& name);
  /// EDQUOT from writes that would make a file of this user longer.
  void limit_files(std::uint64_t size_bytes);
  /// Requests of data wait for as long as this lives. A test has it end before what must wait for
  /// them.
  class [[nodiscard]] Stall {
   public:
    explicit Stall(EmulatedStorage& storage);
    ~Stall();
    Stall(const Stall&) = delete;
    Stall& operator=(const Stall&) = delete;

   private:
    EmulatedStorage& storage_;
  };
  /// All faults end, and what waits is answered.
  void heal();
  /// How many requests of data wait for an answer now.
  std::uint64_t under_way() const;
  /// Returns when some do; false after a minute.
  bool has_requests() const;

 private:
  std::string mount(const Setup& setup);
  void command(const std::string& fault) const;

  const TemporaryFolder folder_;
  const std::string point_;
  const std::string backing_;
  pid_t process_ = -1;
  std::vector<std::string> clients_;
  std::string reason_against_;
};

}  // namespace forebay::faults
