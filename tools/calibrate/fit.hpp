// SPDX-License-Identifier: Apache-2.0
// From what was observed of a storage to the machine file that describes it: pure arithmetic, so
// that it is tested against storages whose numbers are known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/machine.hpp"

namespace forebay::calibrate {

/// A number that was measured several times: the median, and what all lie between.
struct Measured {
  double median = 0;
  double low = 0;
  double high = 0;
};

Measured summarise(std::vector<double> values);

/// Requests of one size, a fixed number of them under way, each asked again as soon as it is
/// answered.
struct LoadPoint {
  std::uint32_t depth = 0;
  Measured requests_per_second;
};

/// Read or written, on one server.
struct Load {
  std::uint64_t small_bytes = 0;
  std::vector<LoadPoint> small;  ///< by depth, from 1
  std::uint64_t large_bytes = 0;
  std::vector<LoadPoint> large;
};

/// Operations on names; seconds of one.
struct NameTimes {
  Measured create;
  Measured open;
  Measured stat;
  Measured unlink;
};

struct Observations {
  std::string name;  ///< of the machine
  std::string about;
  std::uint64_t stripe_bytes = 0;  ///< of the file that was read; 0: not known
  std::uint32_t server_count = 1;  ///< that it lay on
  Load read;
  Load write;
  std::optional<Measured> bytes_per_second_of_all;  ///< read from all servers at once
  NameTimes names;
  std::uint64_t read_ahead_bytes = 0;
};

/// The machine of the page docs/formats/machine.md that would have behaved so. Each of its numbers
/// says where it comes from.
///
/// Latency is the answer time of one small request less the transfer of its bytes; bandwidth what
/// large requests reach at any depth; concurrency follows from Little's law, as the most small
/// requests a second times the answer time of one.
model::Machine fit(const Observations& seen);

}  // namespace forebay::calibrate
