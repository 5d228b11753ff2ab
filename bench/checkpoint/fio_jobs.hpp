// SPDX-License-Identifier: Apache-2.0
// fio on the same folder: what the device takes and gives when nobody asks which bytes they are.
// Direct, by io_uring, in huge pages; jobs, size and depth of requests are tried once, and the best
// are what others are compared with.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace forebay::bench::checkpoint {

/// Why there is no fio; empty where there is.
std::string why_no_fio_jobs();

/// Whether files have their space before they are written.
enum class FioSpace : std::uint8_t { kReserved, kAsWritten };

struct FioSetting {
  std::uint64_t jobs = 4;
  std::uint64_t request_bytes = 4ULL << 20U;
  std::uint32_t depth = 4;
  FioSpace space = FioSpace::kReserved;
};

/// "4 jobs, 4 MiB, depth 4, reserved".
std::string text_of(const FioSetting& setting);

/// A setting, and the seconds that it took.
struct FioTried {
  FioSetting setting;
  double seconds = 0;
};

/// The best setting for one direction.
struct FioBest {
  std::optional<FioTried> chosen;             ///< none: all failed, or none was tried
  std::vector<FioTried> tried;                ///< that worked, in order
  std::map<std::string, std::string> failed;  ///< by setting: why
};

/// Why there is nothing to compare with, though it was tried; empty if there is.
std::string why_none(const FioBest& best);

struct FioChoice {
  FioBest writing;
  FioBest reading;
};

/// As many new files of `total_bytes` together (a multiple of 16 KiB) as the setting has jobs, in
/// `folder`, which exists: written and synced. Returns fio's seconds.
Result<double> fio_write(const std::filesystem::path& folder,
                         std::uint64_t total_bytes,
                         const FioSetting& setting);

/// Reads what fio_write() left with as many jobs, once. Returns fio's seconds.
Result<double> fio_read(const std::filesystem::path& folder,
                        std::uint64_t total_bytes,
                        const FioSetting& setting);

/// What is written, and what is read, in one go. 0: nothing is, and nothing is tried for it.
struct FioSizes {
  std::uint64_t written_bytes = 0;
  std::uint64_t read_bytes = 0;
};

/// Tries all settings twice, each on new files in `folder`, which is emptied before and afterwards;
/// what counts is the faster time. One that fails is left out.
FioChoice choose_fio(const std::filesystem::path& folder, const FioSizes& sizes);

}  // namespace forebay::bench::checkpoint
