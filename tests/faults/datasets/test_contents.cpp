// SPDX-License-Identifier: Apache-2.0
#include "test_contents.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace forebay::faults {

namespace {

constexpr std::uint64_t kPartElementsMax = 6000;
constexpr std::uint64_t kLargePartElements = 150'000;  ///< several pieces

/// Puts the blocks of a rank. In a third of all steps each block is copied; in the others, about
/// half of the blocks are adopted in buffers.
class ShareWriter {
 public:
  ShareWriter(Runtime& runtime, StepWriter& step, const TestContents& contents)
      : runtime_(runtime), step_(step), seed_(contents.seed()) {}

  /// `where` is a Part or a Subarray.
  template <class Where, class T>
  Status put(std::string_view field, const Where& where, const std::vector<T>& values) {
    if (!next_is_adopted()) return step_.put(field, where, std::span(values));
    auto buffer = runtime_.allocate(values.size() * sizeof(T));
    if (!buffer) return failure(buffer.error());
    std::ranges::copy(values, buffer->template as<T>().begin());
    return step_.template put<T>(field, where, adopt(std::move(*buffer)));
  }

 private:
  bool next_is_adopted() {
    if (hash_mix(seed_, step_.number()) % 3 == 0) return false;
    return hash_mix(seed_ + runtime_.rank(), step_.number(), ++puts_) % 2 == 0;
  }

  Runtime& runtime_;
  StepWriter& step_;
  const std::uint64_t seed_;
  std::uint64_t puts_ = 0;
};

}  // namespace

std::uint64_t hash_mix(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t mix = a * 0x9E3779B97F4A7C15U + b * 0xC2B2AE3D27D4EB4FU + c * 0x165667B19E3779F9U;
  for (const unsigned shift : {33U, 29U, 32U}) {
    mix ^= mix >> shift;
    mix *= 0xBF58476D1CE4E5B9U;
  }
  return mix ^ (mix >> 31U);
}

std::uint64_t GridBlock::elements() const {
  std::uint64_t product = 1;
  for (const std::uint64_t extent : count)
    product *= extent;
  return product;
}

std::uint64_t TestContents::parts() const { return 1 + hash_mix(seed_, 1) % 19; }

std::vector<double> TestContents::part(std::uint64_t step, std::uint64_t number) const {
  const std::uint64_t chance = hash_mix(seed_, step, number);
  std::uint64_t elements = chance % kPartElementsMax;
  if (chance % 7 == 3) elements = 0;
  if (chance % 11 == 5) elements = kLargePartElements;
  std::vector<double> values(elements);
  for (std::uint64_t i = 0; i < elements; ++i)
    values[i] = static_cast<double>(chance % 1'000'003) + static_cast<double>(i * 7 + step);
  return values;
}

std::vector<std::uint64_t> TestContents::grid_shape() const {
  return {5 + hash_mix(seed_, 2) % 9, 3 + hash_mix(seed_, 3) % 12, 2 + hash_mix(seed_, 4) % 30};
}

std::vector<float> TestContents::grid(std::uint64_t step, const GridBlock& block) const {
  const auto shape = grid_shape();
  const auto base = static_cast<float>(hash_mix(seed_, step) % 100'000);
  std::vector<float> values;
  values.reserve(block.elements());
  for (std::uint64_t row = 0; row < block.count[0] * block.count[1]; ++row) {
    const std::uint64_t x = block.start[0] + row / block.count[1];
    const std::uint64_t y = block.start[1] + row % block.count[1];
    const std::uint64_t first = (x * shape[1] + y) * shape[2] + block.start[2];
    for (std::uint64_t z = 0; z < block.count[2]; ++z)
      values.push_back(base + static_cast<float>(first + z));
  }
  return values;
}

GridBlock TestContents::share_of(std::uint32_t rank,
                                 std::uint32_t ranks,
                                 std::size_t dimension) const {
  GridBlock block{{0, 0, 0}, grid_shape()};
  const std::uint64_t extent = block.count[dimension];
  const std::uint64_t begin = extent * rank / ranks;
  block.start[dimension] = begin;
  block.count[dimension] = extent * (rank + 1) / ranks - begin;
  return block;
}

std::string WriteConfig::text() const {
  return std::to_string(ranks) + " ranks, " + std::to_string(per_node) + " on a node, " +
         to_toml(plan);
}

WriteConfig random_config(std::uint64_t seed) {
  auto choice = [seed, n = std::uint64_t{0}](std::uint64_t choices) mutable {
    return static_cast<std::uint32_t>(hash_mix(seed, ++n, 77) % choices);
  };
  WriteConfig config{.ranks = 1 + choice(5)};
  config.per_node = choice(3) == 0 ? 2 : 0;
  WritePlan& plan = config.plan;
  plan.strategy = kStrategies.at(choice(kStrategies.size()));
  if (plan.strategy == Strategy::kReducedBlocking) {
    plan.writers = 1 + choice(config.ranks);
    plan.files = 1 + choice(plan.writers);
  }
  plan.tuning.unit_bytes = choice(2) == 0 ? 1_MiB : 64_KiB;
  plan.memory_bytes = choice(2) == 0 ? 2_MiB : 8_MiB;
  plan.steps_in_flight = 1 + choice(3);
  plan.tuning.steps_per_group = 1 + choice(3);
  plan.retained_steps = choice(2) == 0 ? 0 : 1 + choice(3);
  plan.codec = choice(4) == 0 ? Codec::kZstd : Codec::kNone;
  plan.tuning.checksum_stage = choice(2) == 0 ? ChecksumStage::kCopy : ChecksumStage::kAgent;
  return config;
}

Status put_share(Runtime& runtime, StepWriter& step, const TestContents& contents) {
  const std::uint32_t rank = runtime.rank();
  const std::uint32_t ranks = runtime.rank_count();
  ShareWriter writer(runtime, step, contents);
  for (std::uint64_t part = rank; part < contents.parts(); part += ranks) {
    const std::vector<double> values = contents.part(step.number(), part);
    if (Status put = writer.put(kParts, Part{part}, values); !put) return put;
  }
  const GridBlock block = contents.share_of(rank, ranks, step.number() % 3);
  if (block.elements() == 0) return {};
  const Subarray subarray{
      .shape = contents.grid_shape(), .start = block.start, .count = block.count};
  return writer.put(kGrid, subarray, contents.grid(step.number(), block));
}

Result<Future<Receipt>> commit_step(Runtime& runtime,
                                    DatasetWriter& dataset,
                                    const TestContents& contents,
                                    std::uint64_t number) {
  auto step = dataset.begin_step(number);
  if (!step) return failure(step.error());
  if (const Status put = put_share(runtime, *step, contents); !put) return failure(put.error());
  return step->commit();
}

Result<Receipt> write_step(Runtime& runtime,
                           DatasetWriter& dataset,
                           const TestContents& contents,
                           std::uint64_t number) {
  auto receipt = commit_step(runtime, dataset, contents, number);
  return receipt ? receipt->wait() : failure(receipt.error());
}

}  // namespace forebay::faults
