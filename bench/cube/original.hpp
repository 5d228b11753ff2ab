// SPDX-License-Identifier: Apache-2.0
// The re-mapper's scheme, as its public source has it, and the deck's improvements of it, each to
// be switched on by itself. Its faults are the point: memory for each row, a temporary file for
// each metric, and everything read back and copied into the archive at the end.
#pragma once

#include <forebay/error.hpp>

#include <optional>
#include <string>

#include "bench/cube/conversion.hpp"
#include "bench/cube/row_writer.hpp"

namespace forebay::bench::cube {

/// The default is the original.
struct Scheme {
  Writing writing = Writing::kSynchronous;
  Placement placement = Placement::kAnywhere;  ///< of kAio
  Memory memory = Memory::kFresh;
  /// Absent: rows are plain. Else they are written to a swap file, read back, compressed with this
  /// level, and written again.
  std::optional<int> packing_level = std::nullopt;
};

/// Seconds. `write_s` is what the computation waited for writing of its rows, to the end of the
/// last one; what is neither computing nor writing is memory, opening and the archive.
struct LadderTimes {
  double total_s = 0;
  double compute_s = 0;
  double write_s = 0;
};

/// Converts `input` to `output`, both paths, and waits until that is on stable storage. Temporary
/// files lie beside the output and are gone afterwards, also after a failure.
Result<LadderTimes> run_original(const Scheme& scheme,
                                 const std::string& input,
                                 const std::string& specification,
                                 const std::string& output);

}  // namespace forebay::bench::cube
