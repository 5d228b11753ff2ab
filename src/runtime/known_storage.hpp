// SPDX-License-Identifier: Apache-2.0
// What is known of the storage that files lie on: a machine that the options name, or what the file
// system tells of itself. Plans follow from it; where nothing is known, they are as ever.
#pragma once

#include <forebay/plan.hpp>

#include <optional>
#include <string>

#include "model/machine.hpp"
#include "storage/file.hpp"

namespace forebay {

class KnownStorage {
 public:
  /// `machine` as RuntimeOptions::machine has it; reads its file.
  explicit KnownStorage(const std::string& machine);

  /// Whether there is anything to add about this file.
  bool knows(const storage::File& file) const;

  /// Adds to `facts`, which are complete otherwise, what keeps the storage of `file` busy. Fails
  /// where the machine of the options could not be read.
  Status add_to(ReadFacts& facts, const storage::File& file) const;

 private:
  Result<std::optional<model::Machine>> machine_;
};

}  // namespace forebay
