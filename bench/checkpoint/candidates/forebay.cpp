// SPDX-License-Identifier: Apache-2.0
// Forebay's datasets as candidates: with the automatic plan, with named strategies, with a copy or
// with adopted buffers; read back by any number of ranks.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "bench/checkpoint/candidate.hpp"
#include "bench/checkpoint/runtimes.hpp"

namespace forebay::bench::checkpoint {

namespace {

enum class PutMode : std::uint8_t { kCopy, kAdopt };

struct DatasetVariant {
  const char* name;
  WritePlan plan = {};
  PutMode put_mode = PutMode::kCopy;
  Scope scope = Scope::kEverywhere;
  std::uint64_t memory_steps = 0;  ///< memory for this number of steps of all ranks; 0: the plan's
                                   ///< default
};

/// Buffers that a program has at a time: one to compute in, and those of steps in progress.
constexpr std::size_t kBuffers = 3;
/// The unit that plans choose for large steps.
constexpr std::uint64_t kUnitBytes = 4_MiB;
/// Two for a rank's own blocks, two for those of others.
constexpr std::uint64_t kUnitsMin = 4;

/// The step's block is one part of one field, of 64-bit words.
constexpr const char* kField = "block";

std::string path_of(const Checkpoint& checkpoint) { return checkpoint.directory / "run.fb"; }

class ForebayWriter final : public Writer {
 public:
  ForebayWriter(const RankTeam& team, const DatasetVariant& variant, std::vector<Buffer> buffers)
      : rank_(team.rank),
        put_mode_(variant.put_mode),
        runtime_(runtime_of(team)),
        buffers_(std::move(buffers)) {}

  Status open(const Checkpoint& checkpoint, const WritePlan& plan) {
    auto dataset = runtime_.create_dataset(path_of(checkpoint), {.plan = plan});
    if (!dataset) return failure(dataset.error());
    dataset_.emplace(std::move(*dataset));
    return {};
  }

  std::span<std::byte> block_memory(std::uint32_t /*step*/, std::span<std::byte> own) override {
    if (put_mode_ == PutMode::kCopy) return own;
    if (!buffers_.empty()) {
      buffer_ = std::move(buffers_.back());
      buffers_.pop_back();
      return buffer_.bytes();
    }
    auto buffer = runtime_.allocate(own.size());
    if (!buffer) return own;
    buffer_ = std::move(*buffer);
    // Allocates its pages now, so that their cost is blocked time and not computing time. A reused
    // buffer keeps its words. If the system does not support this, the computation pays for the
    // pages.
    ::madvise(buffer_.data(), buffer_.bytes().size(), MADV_POPULATE_WRITE);
    return buffer_.bytes();
  }

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    auto begun = dataset_->begin_step(step);
    if (!begun) return failure(begun.error());
    const bool is_adopted = !buffer_.empty() && buffer_.data() == block.data();
    const Status put = is_adopted
                           ? begun->put<std::byte>(kField, Part{rank_}, adopt(std::move(buffer_)))
                           : begun->put(kField, Part{rank_}, block);
    if (!put) return put;
    receipts_.push_back(begun->commit());
    return {};
  }

  Status close() override { return {}; }

  Status make_durable() override {
    Status outcome;
    for (Future<Receipt>& receipt : receipts_) {
      const auto result = receipt.wait();
      if (!result && outcome) outcome = failure(result.error());
    }
    const Status closed = dataset_ ? dataset_->close() : Status();
    return outcome ? closed : outcome;
  }

  SelfReport self_report() const override {
    return {.staging_bytes = dataset_->report().staging_bytes_max,
            .planned_bytes = dataset_->plan().memory_bytes};
  }

 private:
  const std::uint32_t rank_;
  const PutMode put_mode_;
  Runtime& runtime_;
  std::optional<DatasetWriter> dataset_;
  std::vector<Buffer> buffers_;  // no computation has used these yet
  Buffer buffer_;
  std::vector<Future<Receipt>> receipts_;
};

/// Reads like a restart: computes the parts that a rank needs from the offsets of its bytes.
class ForebayReader final : public Reader {
 public:
  ForebayReader(const RankTeam& team, const Checkpoint& checkpoint)
      : checkpoint_(checkpoint), runtime_(runtime_of(team)) {}

  Status open() {
    auto dataset = runtime_.open_dataset(path_of(checkpoint_));
    if (!dataset) return failure(dataset.error());
    dataset_.emplace(std::move(*dataset));
    return {};
  }

  Result<std::span<const std::byte>> read(std::uint32_t step,
                                          const ByteRange& range,
                                          std::span<std::byte> buffer) override {
    const auto stored = dataset_->open_step(step);
    if (!stored) return failure(stored.error());
    const auto into = buffer.first(range.size);
    std::vector<Future<ByteCount>> pieces;
    for (std::uint32_t writer = 0; writer < checkpoint_.block_bytes.size(); ++writer) {
      const ByteRange block{checkpoint_.offset_of(writer), checkpoint_.block_bytes[writer]};
      const ByteRange wanted = intersect(block, range);
      if (wanted.empty()) continue;
      const auto part = into.subspan(wanted.offset - range.offset, wanted.size);
      pieces.push_back(stored->read(kField, Part{writer}, wanted.offset - block.offset, part));
    }
    for (Future<ByteCount>& piece : pieces)
      if (const auto done = piece.wait(); !done) return failure(done.error());
    return into;
  }

 private:
  const Checkpoint checkpoint_;
  Runtime& runtime_;
  std::optional<DatasetReader> dataset_;
};

class Datasets final : public Candidate {
 public:
  explicit Datasets(DatasetVariant variant) : variant_(std::move(variant)) {}
  std::string name() const override { return std::string("forebay:") + variant_.name; }
  std::uint32_t ranks_min() const override { return std::max(1U, variant_.plan.writers); }
  Scope scope() const override { return variant_.scope; }
  /// Creates the Runtime, and the application's buffers; buffers that were written are reused.
  Result<MemorySpans> prepare(const RankTeam& team, const Checkpoint& checkpoint) const override {
    Runtime& runtime = runtime_of(team);
    buffers_.clear();
    const bool has_block = team.rank < checkpoint.block_bytes.size();
    while (variant_.put_mode == PutMode::kAdopt && has_block && buffers_.size() < kBuffers) {
      auto buffer = runtime.allocate(checkpoint.block_bytes[team.rank]);
      if (!buffer) return failure(buffer.error());
      buffers_.push_back(std::move(*buffer));
    }
    MemorySpans memories;
    for (Buffer& buffer : buffers_)
      memories.push_back(buffer.bytes());
    return memories;
  }
  Result<std::unique_ptr<Writer>> open(const RankTeam& team,
                                       const Checkpoint& checkpoint) const override {
    auto writer = std::make_unique<ForebayWriter>(team, variant_, std::move(buffers_));
    WritePlan plan = variant_.plan;
    if (variant_.memory_steps > 0) plan.memory_bytes = memory_for_steps(checkpoint);
    if (const Status opened = writer->open(checkpoint, plan); !opened)
      return failure(opened.error());
    return writer;
  }
  bool can_read() const override { return true; }
  Result<std::unique_ptr<Reader>> open_to_read(const RankTeam& team,
                                               const Checkpoint& checkpoint) const override {
    buffers_.clear();  // there is no writer
    auto reader = std::make_unique<ForebayReader>(team, checkpoint);
    if (const Status opened = reader->open(); !opened) return failure(opened.error());
    return reader;
  }

 private:
  /// A plan's memory is whole units.
  std::uint64_t memory_for_steps(const Checkpoint& checkpoint) const {
    const std::uint64_t bytes = variant_.memory_steps * checkpoint.step_bytes();
    return std::max(kUnitsMin * kUnitBytes, (bytes + kUnitBytes - 1) / kUnitBytes * kUnitBytes);
  }

  const DatasetVariant variant_;
  mutable std::vector<Buffer> buffers_;  // from prepare() to open()
};

/// The strategies of the memory case, with one writer where they have writers.
std::vector<DatasetVariant> memory_variants() {
  constexpr Scope kMemory = Scope::kMemory;
  WritePlan brigade = plan_of(Strategy::kBrigade);
  brigade.writers = 1;
  WritePlan small_brigade = brigade;
  small_brigade.memory_bytes = kUnitsMin * kUnitBytes;
  WritePlan gather = plan_of(Strategy::kGather);
  gather.writers = 1;
  std::vector<DatasetVariant> variants;
  variants.push_back({.name = "serial", .plan = plan_of(Strategy::kSerial), .scope = kMemory});
  variants.push_back({.name = "baton", .plan = plan_of(Strategy::kBaton), .scope = kMemory});
  variants.push_back(
      {.name = "collective", .plan = plan_of(Strategy::kCollective), .scope = kMemory});
  variants.push_back({.name = "brigade", .plan = brigade, .scope = kMemory});
  variants.push_back({.name = "brigade,16-mib", .plan = small_brigade, .scope = kMemory});
  variants.push_back({.name = "gather", .plan = gather, .scope = kMemory});
  // Half of a rank's memory is for received bytes: room for a whole step of the group.
  variants.push_back({.name = "gather,whole", .plan = gather, .scope = kMemory, .memory_steps = 2});
  return variants;
}

bool register_variants() {
  const WritePlan file_per_process = plan_of(Strategy::kFilePerProcess);
  WritePlan one_writer = plan_of(Strategy::kReducedBlocking);
  one_writer.writers = 1;
  WritePlan two_writers = one_writer;
  two_writers.writers = 2;
  for (DatasetVariant variant :
       {DatasetVariant{"chosen"}, DatasetVariant{"file-per-process", file_per_process},
        DatasetVariant{"file-per-process,adopt", file_per_process, PutMode::kAdopt},
        DatasetVariant{"one-writer", one_writer},
        DatasetVariant{"one-writer,adopt", one_writer, PutMode::kAdopt},
        DatasetVariant{"two-writers", two_writers}})
    register_candidate(std::make_unique<Datasets>(std::move(variant)));
  for (DatasetVariant& variant : memory_variants())
    register_candidate(std::make_unique<Datasets>(std::move(variant)));
  return true;
}

[[maybe_unused]] const bool kRegistered = register_variants();

}  // namespace

}  // namespace forebay::bench::checkpoint
