// SPDX-License-Identifier: Apache-2.0
// How a session reads its file: through the page cache or past it. Decided once, where the file is
// read, when the session is opened.
#pragma once

#include <forebay/access.hpp>
#include <forebay/range.hpp>

#include <memory>
#include <optional>
#include <string>

#include "storage/file.hpp"

namespace forebay {

/// The file as it is opened for that, and why so.
struct Way {
  std::shared_ptr<storage::File> file;
  Access access = Access::kBuffered;
  std::string reason;
  bool cached = false;
};

/// Decides without reading anything, unless `wanted` says it. `buffered` is the file, open.
Result<Way> choose_way(const std::shared_ptr<storage::File>& buffered,
                       ByteRange extent,
                       std::optional<Access> wanted);

/// The same file for this access.
Result<std::shared_ptr<storage::File>> open_for(const std::shared_ptr<storage::File>& buffered,
                                                Access access);

}  // namespace forebay
