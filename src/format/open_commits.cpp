// SPDX-License-Identifier: Apache-2.0
#include "format/open_commits.hpp"

#include <cerrno>

#include "format/index_scan.hpp"
#include "format/records.hpp"

namespace forebay::format {

Result<std::unique_ptr<storage::File>> open_commits(const std::string& directory) {
  auto file = storage::open_file(directory + "/" + std::string(kCommitsName));
  if (file || file.error().kind() != ErrorClass::kNotFound) return file;
  const auto names = list_data_files(directory);
  if (!names && names.error().error_number() == ENOTDIR)
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "open",
                    .path = directory,
                    .cause = "it is not a dataset; a dataset is a directory"});
  if (!names)
    return failure(
        system_error({.operation = "open", .path = directory}, names.error().error_number()));
  if (names->empty())
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "open",
                    .path = directory,
                    .cause = "it is not a dataset; it has neither `commits` nor data files"});
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = file.error().operation(),
                  .path = file.error().path(),
                  .error_number = file.error().error_number(),
                  .cause = "the dataset has data files, but its tables are missing; "
                           "`forebay repair DATASET` rebuilds them"});
}

}  // namespace forebay::format
