// SPDX-License-Identifier: Apache-2.0
#include "tipsy/generate.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "runner/parallel_for.hpp"
#include "tipsy/plummer.hpp"
#include "tipsy/record.hpp"
#include "tipsy/writer.hpp"

namespace forebay::tipsy {

namespace {

/// Particles that share a random stream: the unit of work, and part of the definition of the file.
constexpr std::uint64_t kBlockParticles = 16384;
/// Particles between drawing and encoding; they stay in the L1 cache.
constexpr std::uint64_t kBatchParticles = 128;

/// The blocks of a snapshot; each family begins a new block.
class Blocks {
 public:
  explicit Blocks(const Layout& layout) : layout_(layout) {}

  std::uint64_t count() const {
    std::uint64_t sum = 0;
    for (const Family family : kFamilies)
      sum += count_of(family);
    return sum;
  }

  RecordRun at(std::uint64_t index) const {
    std::uint64_t family_first = 0;
    for (const Family family : kFamilies) {
      if (index >= count_of(family)) {
        index -= count_of(family);
        family_first += layout_.counts.of(family);
        continue;
      }
      const std::uint64_t first = family_first + index * kBlockParticles;
      const std::uint64_t end = family_first + layout_.counts.of(family);
      const std::uint64_t limit = kBlockParticles * record_bytes(family, layout_.precision);
      return layout_.next_record_run({first, end}, limit);
    }
    return {};
  }

 private:
  std::uint64_t count_of(Family family) const {
    return (layout_.counts.of(family) + kBlockParticles - 1) / kBlockParticles;
  }
  const Layout& layout_;
};

void draw_block(const GenerateOptions& options,
                const RecordRun& run,
                command::Random& random,
                std::span<std::byte> records) {
  const RecordFormat shape{run.family, options.layout.precision, options.layout.order};
  std::array<Particle, kBatchParticles> batch;
  for (std::uint64_t done = 0; done < run.count; done += kBatchParticles) {
    const auto particles = std::span(batch).first(std::min(kBatchParticles, run.count - done));
    for (Particle& particle : particles) {
      particle = draw_plummer(random, run.family, options.layout.counts.total());
    }
    encode_records(shape, particles, records.subspan(done * shape.size_bytes()));
  }
}

}  // namespace

Result<Counts> counts_for_size(std::uint64_t file_bytes, const Layout& shape) {
  const auto size_of = [&](Family family) { return record_bytes(family, shape.precision); };
  const std::uint64_t room = file_bytes - std::min(file_bytes, shape.header_bytes);
  const std::uint64_t four =
      size_of(Family::kGas) + 2 * size_of(Family::kDark) + size_of(Family::kStar);
  const std::uint64_t fours = room / four;
  const Counts counts{fours, 2 * fours + (room % four) / size_of(Family::kDark), fours};
  const std::uint64_t limit =
      shape.header_bytes == kShortHeaderBytes ? kShortCountLimit : kCountLimit;
  if (counts.total() > 0 && counts.total() <= limit) return counts;
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "generate",
                  .cause = fmt::format("a snapshot of {} bytes would have {} particles; choose a "
                                       "size for 1 to {}",
                                       file_bytes, counts.total(), limit)});
}

Status generate(const GenerateOptions& options) {
  auto writer = SnapshotWriter::create(options.path, options.layout, 0.0);
  if (!writer) return failure(writer.error());
  const Blocks blocks(options.layout);
  command::Progress progress(options.progress,
                             {"writing " + options.path, "bytes",
                              records_bytes(options.layout.counts, options.layout.precision)});
  progress.advance(0);  // an empty snapshot is complete now
  std::vector<std::vector<std::byte>> records(std::max(1U, options.threads));
  const Status written = runner::parallel_for(
      blocks.count(), options.threads, [&](std::uint64_t block, unsigned worker) {
        const RecordRun run = blocks.at(block);
        records[worker].resize(run.bytes.size);
        command::Random random(options.seed, block);
        draw_block(options, run, random, records[worker]);
        Status done = writer->write(run.bytes.offset, records[worker]);
        progress.advance(run.bytes.size);
        return done;
      });
  if (!written) return written;
  return writer->commit();
}

}  // namespace forebay::tipsy
