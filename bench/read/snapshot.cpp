// SPDX-License-Identifier: Apache-2.0
#include "bench/read/snapshot.hpp"

#include <algorithm>
#include <thread>

#include "tipsy/generate.hpp"

namespace forebay::bench::read {

Result<FilePartition> make_snapshot(Context& context, const SnapshotSize& size) {
  tipsy::GenerateOptions options{.path = (context.directory() / "dark.tipsy").string(),
                                 .layout = {.counts = {.dark = size.particles}},
                                 .threads = std::max(1U, std::thread::hardware_concurrency())};
  const std::uint64_t file_bytes = options.layout.end_offset();
  if (const Status room = context.require_space(file_bytes); !room) return failure(room.error());
  context.report({0, file_bytes, "bytes", "writing a snapshot"});
  if (const Status made = tipsy::generate(options); !made) return failure(made.error());
  context.report({file_bytes, file_bytes, "bytes", "writing a snapshot"});
  return FilePartition{.path = options.path, .file_bytes = file_bytes, .task_count = size.tasks};
}

Status SumValidator::check(const std::vector<double>& found) {
  if (first_.empty()) first_ = found;
  if (first_ == found) return {};
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "compare the sums over all particles",
                  .cause = "two readers of one snapshot have different sums"});
}

}  // namespace forebay::bench::read
