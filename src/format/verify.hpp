// SPDX-License-Identifier: Apache-2.0
// Reads a whole dataset and lists everything that is not as it was written.
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
  std::uint64_t bytes = 0;                ///< raw bytes that cannot be had because of it, if known
};

struct VerifyOptions {
  /// This step only.
  std::optional<std::uint64_t> step = {};
  /// Data files are read by so many threads at once.
  unsigned threads = 1;
  OnProgress progress = {};
};

struct VerifyReport {
  std::vector<Finding> findings = {};  ///< of `commits` first, then by step, file and offset
  std::uint64_t steps = 0;
  std::uint64_t files = 0;
  std::uint64_t blocks = 0;
  std::uint64_t raw_bytes = 0;  ///< that were read and found whole
};

/// Steps that are dropped while it reads them are passed over. An Error only if nothing can be
/// looked at: `commits` is gone or has no slot in force, the step is not there, or it was
/// cancelled. Blocks.
Result<VerifyReport> verify(const std::string& folder, const VerifyOptions& options = {});

/// The data of one step: all pieces against their checksums, blocks against each other. For verify
/// and for repair, which trusts no step that was not published. Called with the bytes that were
/// read, `has_read` says whether to go on.
std::vector<Finding> verify_step(const StepCatalog& step,
                                 const DatasetId& dataset,
                                 VerifyReport& report,
                                 const std::function<bool(std::uint64_t bytes)>& has_read);

}  // namespace forebay::format
