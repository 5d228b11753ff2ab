// SPDX-License-Identifier: Apache-2.0
// Runs fio, a widely used load generator: the same transfers on the same file, with the settings
// that give the most with io_uring.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace forebay::bench::engine {

enum class Direction : std::uint8_t { kRead, kWrite };
enum class AccessOrder : std::uint8_t { kSequential, kRandom };

/// Direct transfers of an existing file with allocated blocks.
struct TransferLoad {
  Direction direction = Direction::kRead;
  AccessOrder access_order = AccessOrder::kSequential;
  std::uint64_t request_bytes = 0;
  std::uint32_t depth = 1;        ///< requests in flight
  std::uint64_t total_bytes = 0;  ///< from the file's start, or as many at random offsets
  std::uint64_t file_bytes = 0;
};

/// Cost of a load.
struct TransferCost {
  double seconds = 0;
  double cpu_seconds = 0;  ///< of all threads that transfer
};

/// The memory of fio's buffers.
enum class FioMemory : std::uint8_t {
  kDefault,    ///< default: pages of 4 KiB, unless the system makes all memory huge pages
  kHugePages,  ///< with GLIBC_TUNABLES=glibc.malloc.hugetlb=1
};

/// Why fio is unavailable; empty if it is available.
std::string fio_unavailable_reason();

/// Runs a load with fio's io_uring engine: fixed buffers, a registered file, no clock calls. Its
/// report goes to a file in `directory`. The processor time is that of the job's thread; direct
/// transfers of allocated blocks use no other thread.
Result<TransferCost> run_fio(const TransferLoad& load,
                             FioMemory memory,
                             const std::filesystem::path& file,
                             const std::filesystem::path& directory);

}  // namespace forebay::bench::engine
