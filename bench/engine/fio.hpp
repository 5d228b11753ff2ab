// SPDX-License-Identifier: Apache-2.0
// fio, the load generator that people trust: the same transfers on the same file, set up as its own
// users would to get the most out of io_uring.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace forebay::bench::engine {

enum class Direction : std::uint8_t { kRead, kWrite };
enum class Order : std::uint8_t { kSequential, kRandom };

/// Direct transfers of a file that exists and has its blocks.
struct Load {
  Direction direction = Direction::kRead;
  Order order = Order::kSequential;
  std::uint64_t request_bytes = 0;
  std::uint32_t depth = 1;        ///< requests under way
  std::uint64_t total_bytes = 0;  ///< from the file's begin, or as many at random places
  std::uint64_t file_bytes = 0;
};

/// What a load took.
struct Taken {
  double seconds = 0;
  double cpu_seconds = 0;  ///< of all threads that transfer
};

/// The memory that fio transfers to and from.
enum class FioMemory : std::uint8_t {
  kItsOwn,     ///< as it comes: pages of 4 KiB, unless the system makes all memory huge pages
  kHugePages,  ///< what a user gets who knows to set GLIBC_TUNABLES=glibc.malloc.hugetlb=1
};

/// Why there is nothing to compare with; empty where there is.
std::string why_no_fio();

/// Runs a load with fio's io_uring engine: fixed buffers, a registered file, no clock calls. Its
/// report goes to a file in `folder`. The processor time is that of the job's thread; direct
/// transfers of allocated blocks need no other.
Result<Taken> run_fio(const Load& load,
                      FioMemory memory,
                      const std::filesystem::path& file,
                      const std::filesystem::path& folder);

}  // namespace forebay::bench::engine
