// SPDX-License-Identifier: Apache-2.0
// AccessMethod: whether a session reads its file through the page cache or past it. Chosen once, on
// the rank that reads the file, when the session is opened.
#pragma once

#include <forebay/access.hpp>
#include <forebay/range.hpp>
#include <forebay/read_plan.hpp>

#include <memory>
#include <optional>
#include <string>

#include "runtime/storage_info.hpp"
#include "storage/file.hpp"

namespace forebay {

/// The file as opened for the chosen access, and the reason.
struct AccessMethod {
  std::shared_ptr<storage::File> file;
  Access access = Access::kBuffered;
  std::string reason;
  bool cached = false;
};

/// A request to read.
struct AccessRequest {
  ByteRange extent;
  std::optional<Access> access;  ///< as in the plan; absent: chosen here
  Mode mode = Mode::kDeclared;   ///< as in the plan
};

/// Uses the access of the request if it is set; otherwise chooses from facts, without reading data.
/// `buffered` is the open file.
Result<AccessMethod> choose_access_method(const std::shared_ptr<storage::File>& buffered,
                                          const AccessRequest& request,
                                          const StorageInfoSource& storage);

/// The same file opened for `access`.
Result<std::shared_ptr<storage::File>> open_with_access(
    const std::shared_ptr<storage::File>& buffered, Access access);

}  // namespace forebay
