// SPDX-License-Identifier: Apache-2.0
// StorageInfoSource: the description of the storage of files. It is a machine that the options
// name, or a description by the file system, which has precedence. Plans use it and name its
// source. Without a description, plans have their defaults.
#pragma once

#include <forebay/read_plan.hpp>

#include <memory>
#include <mutex>
#include <string>

#include "model/machine.hpp"
#include "read/plan.hpp"
#include "storage/file.hpp"
#include "storage/stripe_layout.hpp"
#include "stream/in_flight_limit.hpp"
#include "write/plan.hpp"

namespace forebay {

/// Thread-safe.
class StorageInfoSource {
 public:
  /// `machine` as RuntimeOptions::machine. Reads its file.
  explicit StorageInfoSource(const std::string& machine);

  /// The Error if the machine of the options could not be read.
  Status status() const { return machine_ ? Status() : Status(failure(machine_.error())); }

  /// True if a description of the storage of this file exists.
  bool has_info(const storage::File& file) const;

  /// Adds to `facts`, which are otherwise complete, the requests that keep the storage of `file`
  /// busy, and the source of these numbers. Fails if the machine of the options could not be read.
  Status add_facts(ReadFacts& facts, const storage::File& file) const;

  /// The same for a dataset at `path`, which need not exist. The machine exists while the result is
  /// held.
  Result<std::shared_ptr<const model::Machine>> add_facts(write::WriteFacts& facts,
                                                          const std::string& path) const;

  /// The same for output streams: the requests that keep the storage of files there busy.
  Result<stream::StorageNeeds> write_needs(const storage::StorageObject& place) const;

 private:
  using MachinePtr = std::shared_ptr<const model::Machine>;  // null: unknown
  /// The description in use for a file, and its source.
  struct StorageInfo {
    MachinePtr machine;
    std::string reason;
  };
  static Result<MachinePtr> read_machine(const std::string& name_or_path);
  /// Fails if the description by the file system is not a valid machine.
  Result<MachinePtr> file_system_machine(const storage::StorageObject& place) const;
  /// Call only if the machine of the options could be read.
  StorageInfo info_for(const storage::StorageObject& place) const;

  const Result<MachinePtr> machine_;
  /// The last description by a file system. Parsing it takes longer than everything else about a
  /// session, and files of a program are mostly on one file system.
  mutable std::mutex mutex_;
  mutable std::string cached_text_;
  mutable Result<MachinePtr> cached_machine_;
};

}  // namespace forebay
