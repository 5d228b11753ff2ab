// SPDX-License-Identifier: Apache-2.0
// The scheme of the original re-mapper, as in its public source, and the improvements of the study.
// Each improvement can be enabled alone. The inefficiencies are intentional: memory for each row, a
// temporary file for each metric, and everything read back and copied into the archive at the end.
#pragma once

#include <forebay/error.hpp>

#include <map>
#include <optional>
#include <string>

#include "bench/cube/conversion.hpp"
#include "bench/cube/row_writer.hpp"

namespace forebay::bench::cube {

/// The default is the original.
struct Scheme {
  RowWriteMode write_mode = RowWriteMode::kSynchronous;
  ThreadPlacement placement = ThreadPlacement::kUnbound;  ///< for kAio
  RowAllocation memory = RowAllocation::kFresh;
  /// Absent: rows are plain. Else rows are written to a swap file, read back, compressed with this
  /// level, and written again.
  std::optional<int> compression_level = std::nullopt;
};

/// The stages of the original by their names; each includes the previous ones.
const std::map<std::string, Scheme>& stages();

/// In seconds. `write_s` is the time that the computation waited for writes of its rows, including
/// the last one. The rest of `total_s` is memory, opening and the archive.
struct RemapTimes {
  double total_s = 0;
  double compute_s = 0;
  double write_s = 0;
};

/// Converts `input` to `output`, both paths; blocks until the output is on stable storage.
/// Temporary files are created beside the output and removed, also after a failure.
Result<RemapTimes> run_original(const Scheme& scheme,
                                const std::string& input,
                                const std::string& specification,
                                const std::string& output);

}  // namespace forebay::bench::cube
