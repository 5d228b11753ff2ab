// SPDX-License-Identifier: Apache-2.0
// How a session reads its file: through the page cache or past it. Decided once, where the file is
// read, when the session is opened.
#pragma once

#include <forebay/access.hpp>
#include <forebay/range.hpp>

#include <memory>
#include <optional>
#include <string>

#include "runtime/known_storage.hpp"
#include "storage/file.hpp"

namespace forebay {

/// The file as it is opened for that, and why so.
struct Way {
  std::shared_ptr<storage::File> file;
  Access access = Access::kBuffered;
  std::string reason;
  bool cached = false;
};

/// What somebody wants to read.
struct Wish {
  ByteRange extent;
  std::optional<Access> access;  ///< as the plan has it
};

/// Decides without reading anything, unless the wish says it. `buffered` is the file, open.
Result<Way> choose_way(const std::shared_ptr<storage::File>& buffered,
                       const Wish& wish,
                       const KnownStorage& storage);

/// The same file for this access.
Result<std::shared_ptr<storage::File>> open_for(const std::shared_ptr<storage::File>& buffered,
                                                Access access);

}  // namespace forebay
