// SPDX-License-Identifier: Apache-2.0
// fio with four jobs on the same folder: what the device takes and gives when nobody asks which
// bytes they are. As its users set it up for throughput: direct, 4 MiB, queue depth 4, io_uring.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace forebay::bench::checkpoint {

/// Why there is no fio; empty where there is.
std::string why_no_fio_jobs();

/// Four new files of `total_bytes` together (a multiple of 16 KiB) in `folder`, which exists:
/// reserved, written and synced. Returns fio's seconds.
Result<double> fio_write(const std::filesystem::path& folder, std::uint64_t total_bytes);

/// Reads what fio_write() left, once. Returns fio's seconds.
Result<double> fio_read(const std::filesystem::path& folder, std::uint64_t total_bytes);

}  // namespace forebay::bench::checkpoint
