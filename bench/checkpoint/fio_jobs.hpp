// SPDX-License-Identifier: Apache-2.0
// fio on the same directory: the bandwidth of the device for arbitrary bytes. Direct, by io_uring,
// in huge pages. Jobs, size and depth of requests are tried first, and the best setting is the
// reference.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace forebay::bench::checkpoint {

/// Why fio is unavailable; empty if it is available.
std::string fio_unavailable_reason();

/// Whether the space of files is allocated before the writes.
enum class FioAllocation : std::uint8_t { kPreallocated, kOnWrite };

struct FioSetting {
  std::uint64_t jobs = 4;
  std::uint64_t request_bytes = 4ULL << 20U;
  std::uint32_t depth = 4;
  FioAllocation allocation = FioAllocation::kPreallocated;
};

/// "4 jobs, 4 MiB, depth 4, reserved".
std::string text_of(const FioSetting& setting);

/// A setting and its seconds.
struct FioTrial {
  FioSetting setting;
  double seconds = 0;
};

/// The best setting for one direction.
struct FioTuning {
  std::optional<FioTrial> fastest;              ///< none: all failed, or none was tried
  std::vector<FioTrial> trials;                 ///< of settings that worked, in order
  std::map<std::string, std::string> failures;  ///< by setting: the reason
};

/// Why all tried settings failed; empty if one works or none was tried.
std::string failure_reason(const FioTuning& best);

struct FioTunings {
  FioTuning writing;
  FioTuning reading;
};

/// Writes and syncs one new file for each job of the setting in `directory`, which exists,
/// `total_bytes` together (a multiple of 16 KiB). Returns fio's seconds.
Result<double> fio_write(const std::filesystem::path& directory,
                         std::uint64_t total_bytes,
                         const FioSetting& setting);

/// Reads the files of fio_write() with the same number of jobs, once. Returns fio's seconds.
Result<double> fio_read(const std::filesystem::path& directory,
                        std::uint64_t total_bytes,
                        const FioSetting& setting);

/// Bytes that are written, and read, in one run. 0: that direction is not tried.
struct FioSizes {
  std::uint64_t written_bytes = 0;
  std::uint64_t read_bytes = 0;
};

/// Tries all settings twice, each on new files in `directory`, which is emptied before and
/// afterwards; the faster time counts. A failing setting is left out.
FioTunings tune_fio_settings(const std::filesystem::path& directory, const FioSizes& sizes);

}  // namespace forebay::bench::checkpoint
