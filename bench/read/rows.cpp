// SPDX-License-Identifier: Apache-2.0
#include "bench/read/rows.hpp"

namespace forebay::bench::read {

Result<FilePartition> large_partition(Context& context) {
  const std::uint64_t file_bytes =
      context.choose<std::uint64_t>({.quick = 128_MiB, .usual = 1_GiB, .full = 4_GiB});
  auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  return FilePartition{
      .path = *path, .file_bytes = file_bytes, .task_count = context.choose(kTasks, kTasks / 8)};
}

}  // namespace forebay::bench::read
