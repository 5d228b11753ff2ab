// SPDX-License-Identifier: Apache-2.0
// What is known of the storage that files lie on: a machine that the options name, or what the file
// system tells of itself, which comes first. Plans follow from it, and say whose word it was; where
// nothing is known, they are as ever.
#pragma once

#include <forebay/plan.hpp>

#include <memory>
#include <mutex>
#include <string>

#include "model/machine.hpp"
#include "storage/file.hpp"
#include "storage/stripes.hpp"
#include "stream/in_flight_limit.hpp"
#include "write/plan.hpp"

namespace forebay {

/// Safe for several threads at once.
class KnownStorage {
 public:
  /// `machine` as RuntimeOptions::machine has it; reads its file.
  explicit KnownStorage(const std::string& machine);

  /// Why the machine of the options could not be read, if so.
  Status status() const { return machine_ ? Status() : Status(failure(machine_.error())); }

  /// Whether there is anything to add about this file.
  bool knows(const storage::File& file) const;

  /// Adds to `facts`, which are complete otherwise, what keeps the storage of `file` busy, and who
  /// says so. Fails where the machine of the options could not be read.
  Status add_to(ReadFacts& facts, const storage::File& file) const;

  /// The same for a dataset at `path`, which need not be there yet. The machine stays as long as
  /// what is returned is held.
  Result<std::shared_ptr<const model::Machine>> add_to(write::WriteFacts& facts,
                                                       const std::string& path) const;

  /// The same for output streams: what keeps the storage of files there busy.
  Result<stream::StorageNeeds> needs_of_writing(const storage::StoragePlace& place) const;

 private:
  using Known = std::shared_ptr<const model::Machine>;  // null: not known
  /// What is followed for a file, and whose word that is.
  struct Believed {
    Known machine;
    std::string reason;
  };
  static Result<Known> read_machine(const std::string& name_or_path);
  /// An Error where what the file system says is no machine.
  Result<Known> told_by(const storage::StoragePlace& place) const;
  /// To be called where the machine of the options could be read.
  Believed believed(const storage::StoragePlace& place) const;

  const Result<Known> machine_;
  /// What a file system told last: to understand it takes longer than all else about a session, and
  /// files of a program mostly lie on one.
  mutable std::mutex mutex_;
  mutable std::string told_text_;
  mutable Result<Known> told_;
};

}  // namespace forebay
