// SPDX-License-Identifier: Apache-2.0
#include "format/open_commits.hpp"

#include "format/index_scan.hpp"
#include "format/records.hpp"

namespace forebay::format {

Result<std::unique_ptr<storage::File>> open_commits(const std::string& folder) {
  auto file = storage::open_file(folder + "/" + std::string(kCommitsName));
  if (file || file.error().kind() != ErrorClass::kNotFound) return file;
  const auto names = list_data_files(folder);
  if (!names)
    return failure(
        system_error({.operation = "open", .path = folder}, names.error().error_number()));
  if (names->empty())
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "open",
                    .path = folder,
                    .cause = "it is no dataset, as it has neither tables nor data files"});
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = file.error().operation(),
                  .path = file.error().path(),
                  .error_number = file.error().error_number(),
                  .cause = "the tables of the dataset are missing, and data files are there; "
                           "`forebay repair DATASET` makes tables anew"});
}

}  // namespace forebay::format
