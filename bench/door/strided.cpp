// SPDX-License-Identifier: Apache-2.0
// put() of a block in memory with ghost layers: with a MemoryLayout, and packed by hand before.
// Staging memory holds the whole block, so that no put() waits for storage. Each step is durable
// before the next one begins.
#include <forebay/runtime.hpp>

#include <cstring>
#include <span>

#include "bench/door/door.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/file_partition.hpp"

namespace forebay::bench::door {

namespace {

constexpr const char* kId = "door.strided";
constexpr double kGoal = 0.7;
/// Elements of the block in each dimension.
constexpr ByEffort<std::uint64_t> kEdge = {.quick = 64, .usual = 512, .full = 512};
constexpr std::uint64_t kGhostLayers = 2;
constexpr std::uint64_t kSpareStagingBytes = 16_MiB;
/// Of which storage has files at a time: the newest one, and one in progress.
constexpr std::uint64_t kStepsOnStorage = 2;

struct GhostedBlock {
  Subarray box;
  MemoryLayout layout;
  std::span<const double> memory;
};

std::span<double> doubles_in(const PrefaultedMemory& memory) {
  return {reinterpret_cast<double*>(memory.bytes().data()), memory.bytes().size() / sizeof(double)};
}

/// Copies the rows of the block, as programs do.
void pack(const GhostedBlock& block, std::span<double> packed) {
  const Shape& count = block.box.count;
  const Shape& shape = block.layout.shape;
  double* to = packed.data();
  for (std::uint64_t plane = 0; plane < count[0]; ++plane) {
    for (std::uint64_t row = 0; row < count[1]; ++row, to += count[2]) {
      const std::uint64_t line = (plane + kGhostLayers) * shape[1] + row + kGhostLayers;
      std::memcpy(to, &block.memory[line * shape[2] + kGhostLayers], count[2] * sizeof(double));
    }
  }
}

/// Seconds of `put` in a new step, which is durable at the end.
template <class Put>
double time_step(DatasetWriter& dataset, const Put& put) {
  const auto newest = dataset.newest_step();
  auto step = dataset.begin_step(newest ? *newest + 1 : 0).value();
  const Stopwatch watch;
  check(put(step));
  const double seconds = watch.seconds();
  step.commit().wait().value();
  return seconds;
}

}  // namespace

Status bench_strided(Context& context) {
  const std::uint64_t edge = context.choose(kEdge);
  const Shape count(3, edge);
  const std::uint64_t block_bytes = element_count(count) * sizeof(double);
  check(context.require_space(kStepsOnStorage * block_bytes));
  GhostedBlock block{.box = {.shape = count, .start = {0, 0, 0}, .count = count},
                     .layout = with_ghosts(count, kGhostLayers),
                     .memory = {}};
  const auto memory =
      PrefaultedMemory::make(element_count(block.layout.shape) * sizeof(double)).value();
  const auto packed = PrefaultedMemory::make(block_bytes).value();
  block.memory = doubles_in(memory);
  context.set_parameter("strided_block_bytes", block_bytes);

  Runtime runtime;
  const WritePlan plan{.memory_bytes = block_bytes + kSpareStagingBytes, .retained_steps = 1};
  auto dataset = runtime.create_dataset(context.directory() / "run.fb", {.plan = plan}).value();
  const auto with_layout = [&](StepWriter& step) {
    return step.put("field", block.box, block.memory, block.layout);
  };
  const auto by_hand = [&](StepWriter& step) {
    pack(block, doubles_in(packed));
    return step.put("field", block.box, doubles_in(packed));
  };
  const Status compared = context.compare(
      {.rows = {{kId, ratio_of("with a layout", "packed by hand"), Goal{kGoal}}},
       .variants = {{"with a layout", {}, [&] { return time_step(dataset, with_layout); }},
                    {"packed by hand", {}, [&] { return time_step(dataset, by_hand); }}}});
  check(dataset.close());
  return compared;
}

}  // namespace forebay::bench::door
