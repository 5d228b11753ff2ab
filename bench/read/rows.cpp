// SPDX-License-Identifier: Apache-2.0
#include "bench/read/rows.hpp"

#include <utility>

#include "bench/read/rank_harness_instance.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

FilePartition large_partition(Context& context) {
  const std::uint64_t file_bytes =
      context.choose<std::uint64_t>({.quick = 128_MiB, .usual = 1_GiB, .full = 4_GiB});
  return {.path = context.word_file(file_bytes).value(),
          .file_bytes = file_bytes,
          .task_count = context.choose(kTasks, kTasks / 8)};
}

Prepare warm(const std::filesystem::path& path) {
  return [path] { return probe::warm(path); };
}

Prepare cold(const std::filesystem::path& path) {
  return [path] { return probe::drop_cached(path); };
}

Variant job_variant(std::string name, const Job& job, Prepare prepare) {
  return {std::move(name), std::move(prepare), [job] { return rank_harness().time(job); }};
}

}  // namespace forebay::bench::read
