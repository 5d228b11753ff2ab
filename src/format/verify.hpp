// SPDX-License-Identifier: Apache-2.0
// verify(): reads a whole dataset and lists all damage.
#pragma once

#include "format/catalog.hpp"
#include "format/read_progress.hpp"

namespace forebay::format {

/// One damage.
struct Finding {
  Error error;  ///< with path and offset
  std::optional<std::uint64_t> step = {};
  std::string field = {};
  std::optional<std::uint64_t> key = {};  ///< of the block: the part's number
  std::uint64_t bytes = 0;                ///< raw bytes lost by it, if known
};

struct VerifyOptions {
  /// This step only.
  std::optional<std::uint64_t> step = {};
  /// Number of threads that read data files.
  unsigned threads = 1;
  ProgressCallback progress = {};
};

struct VerifyReport {
  std::vector<Finding> findings = {};  ///< of `commits` first, then by step, file and offset
  std::uint64_t steps = 0;
  std::uint64_t files = 0;
  std::uint64_t blocks = 0;
  std::uint64_t raw_bytes = 0;  ///< read and found valid
};

/// Steps that are dropped during the call are skipped. An Error only if nothing can be verified:
/// `commits` is missing or has no valid slot, the step does not exist, or the call was cancelled.
/// Blocks.
Result<VerifyReport> verify(const std::string& directory, const VerifyOptions& options = {});

/// Verifies the data of one step: all pieces against their checksums, and blocks against each
/// other. For verify(), and for repair, which trusts no unpublished step. `on_bytes_read` receives
/// the number of bytes read; false cancels.
std::vector<Finding> verify_step(const StepCatalog& step,
                                 const DatasetId& dataset,
                                 VerifyReport& report,
                                 const std::function<bool(std::uint64_t bytes)>& on_bytes_read);

}  // namespace forebay::format
