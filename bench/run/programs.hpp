// SPDX-License-Identifier: Apache-2.0
// The programs of `bench run`: a table of command lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forebay::bench::run {

/// Rows that a program belongs to. run.identical has all programs, run.harm all but failing ones.
enum class Group : std::uint8_t {
  kWide,    ///< reads far apart from each other
  kRandom,  ///< random order, the same in each run
  kSeries,  ///< numbered files
  kLong,    ///< long sequential reads
  kImport,  ///< many small files
  kOther,
  kFailing,  ///< ends at once, with another exit status than 0
};

/// `command` and `needs` are of the shell. Its variables: $DIR, the directory with the files that
/// programs.py makes; $BIN, that of the programs of this benchmark; $N, a number of reads; $ORDER,
/// a signature of that number of reads in random order; $COPY, a file to write.
struct Program {
  Group group = Group::kOther;
  std::string name;
  std::string command;
  std::string needs = {};  ///< fails if something is missing that the program requires
  int status = 0;          ///< its exit status
};

const std::vector<Program>& programs();

/// The same for each run.
std::string random_order(unsigned reads);

}  // namespace forebay::bench::run
