// SPDX-License-Identifier: Apache-2.0
// Forebay's datasets as a contender: as a plan chooses, by strategies named, with a copy or with
// buffers that are given away, and read back by any number of ranks.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "bench/checkpoint/contender.hpp"
#include "bench/checkpoint/runtimes.hpp"

namespace forebay::bench::checkpoint {

namespace {

enum class HandOver : std::uint8_t { kCopy, kAdopt };

struct Way {
  const char* name;
  WritePlan plan = {};
  HandOver hand_over = HandOver::kCopy;
  Scope scope = Scope::kEverywhere;
  std::uint64_t memory_steps = 0;  ///< memory for so many steps of all ranks, not as is usual
};

/// Buffers that a program has at a time: one to compute in, and those of the steps under way.
constexpr std::size_t kBuffers = 3;
/// What plans choose for large steps.
constexpr std::uint64_t kUnitBytes = 4_MiB;
/// Two for a rank's own blocks, two for those of others.
constexpr std::uint64_t kUnitsMin = 4;

/// The step's block is one part of one field, of 64-bit words.
constexpr const char* kField = "block";

std::string path_of(const Checkpoint& checkpoint) { return checkpoint.folder / "run.fb"; }

class DatasetWriter final : public Writer {
 public:
  DatasetWriter(const Team& team, const Way& way, std::vector<Buffer> buffers)
      : rank_(team.rank),
        hand_over_(way.hand_over),
        runtime_(runtime_of(team)),
        buffers_(std::move(buffers)) {}

  Status open(const Checkpoint& checkpoint, const WritePlan& plan) {
    auto dataset = runtime_.dataset(path_of(checkpoint), plan);
    if (!dataset) return failure(dataset.error());
    dataset_.emplace(std::move(*dataset));
    return {};
  }

  std::span<std::byte> memory_for(std::uint32_t /*step*/, std::span<std::byte> own) override {
    if (hand_over_ == HandOver::kCopy) return own;
    if (!buffers_.empty()) {
      buffer_ = std::move(buffers_.back());
      buffers_.pop_back();
      return buffer_.bytes();
    }
    auto buffer = runtime_.allocate(own.size());
    if (!buffer) return own;
    buffer_ = std::move(*buffer);
    // Its pages now, so that what they cost is blocked time and not the computation's. One that
    // comes again keeps its words. Where the system cannot, the computation pays for them.
    ::madvise(buffer_.data(), buffer_.bytes().size(), MADV_POPULATE_WRITE);
    return buffer_.bytes();
  }

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    auto begun = dataset_->begin_step(step);
    if (!begun) return failure(begun.error());
    const bool is_given = !buffer_.empty() && buffer_.data() == block.data();
    const Status put = is_given
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

  Told told() const override {
    return {.staging_bytes = dataset_->report().staging_bytes_max,
            .planned_bytes = dataset_->plan().memory_bytes};
  }

 private:
  const std::uint32_t rank_;
  const HandOver hand_over_;
  Runtime& runtime_;
  std::optional<Dataset> dataset_;
  std::vector<Buffer> buffers_;  // nobody has computed in yet
  Buffer buffer_;
  std::vector<Future<Receipt>> receipts_;
};

/// Reads as a restart does: which parts a rank wants is worked out from where its bytes lie.
class DatasetReader final : public Reader {
 public:
  DatasetReader(const Team& team, const Checkpoint& checkpoint)
      : checkpoint_(checkpoint), runtime_(runtime_of(team)) {}

  Status open() {
    auto dataset = runtime_.open_dataset(path_of(checkpoint_));
    if (!dataset) return failure(dataset.error());
    dataset_.emplace(std::move(*dataset));
    return {};
  }

  Result<std::span<const std::byte>> read(std::uint32_t step,
                                          const ByteRange& range,
                                          std::span<std::byte> room) override {
    const auto stored = dataset_->step(step);
    if (!stored) return failure(stored.error());
    const auto into = room.first(range.size);
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
  std::optional<StoredDataset> dataset_;
};

class Datasets final : public Contender {
 public:
  explicit Datasets(Way way) : way_(std::move(way)) {}
  std::string name() const override { return std::string("forebay:") + way_.name; }
  std::uint32_t ranks_min() const override { return std::max(1U, way_.plan.writers); }
  Scope scope() const override { return way_.scope; }
  /// The Runtime, and the application's buffers: those that were written come again.
  Result<Memories> prepare(const Team& team, const Checkpoint& checkpoint) const override {
    Runtime& runtime = runtime_of(team);
    buffers_.clear();
    const bool has_block = team.rank < checkpoint.block_bytes.size();
    while (way_.hand_over == HandOver::kAdopt && has_block && buffers_.size() < kBuffers) {
      auto buffer = runtime.allocate(checkpoint.block_bytes[team.rank]);
      if (!buffer) return failure(buffer.error());
      buffers_.push_back(std::move(*buffer));
    }
    Memories memories;
    for (Buffer& buffer : buffers_)
      memories.push_back(buffer.bytes());
    return memories;
  }
  Result<std::unique_ptr<Writer>> open(const Team& team,
                                       const Checkpoint& checkpoint) const override {
    auto writer = std::make_unique<DatasetWriter>(team, way_, std::move(buffers_));
    WritePlan plan = way_.plan;
    if (way_.memory_steps > 0) plan.memory_bytes = memory_for_steps(checkpoint);
    if (const Status opened = writer->open(checkpoint, plan); !opened)
      return failure(opened.error());
    return writer;
  }
  bool can_read() const override { return true; }
  Result<std::unique_ptr<Reader>> open_to_read(const Team& team,
                                               const Checkpoint& checkpoint) const override {
    buffers_.clear();  // nobody writes
    auto reader = std::make_unique<DatasetReader>(team, checkpoint);
    if (const Status opened = reader->open(); !opened) return failure(opened.error());
    return reader;
  }

 private:
  /// A plan's memory is whole units.
  std::uint64_t memory_for_steps(const Checkpoint& checkpoint) const {
    const std::uint64_t bytes = way_.memory_steps * checkpoint.step_bytes();
    return std::max(kUnitsMin * kUnitBytes, (bytes + kUnitBytes - 1) / kUnitBytes * kUnitBytes);
  }

  const Way way_;
  mutable std::vector<Buffer> buffers_;  // from prepare() to open()
};

/// What strategies take of memory, by one writer where they have any.
std::vector<Way> ways_for_memory() {
  constexpr Scope kMemory = Scope::kMemory;
  WritePlan brigade = plan_of(Strategy::kBrigade);
  brigade.writers = 1;
  WritePlan small_brigade = brigade;
  small_brigade.memory_bytes = kUnitsMin * kUnitBytes;
  WritePlan gather = plan_of(Strategy::kGather);
  gather.writers = 1;
  std::vector<Way> ways;
  ways.push_back({.name = "serial", .plan = plan_of(Strategy::kSerial), .scope = kMemory});
  ways.push_back({.name = "baton", .plan = plan_of(Strategy::kBaton), .scope = kMemory});
  ways.push_back({.name = "collective", .plan = plan_of(Strategy::kCollective), .scope = kMemory});
  ways.push_back({.name = "brigade", .plan = brigade, .scope = kMemory});
  ways.push_back({.name = "brigade,16-mib", .plan = small_brigade, .scope = kMemory});
  ways.push_back({.name = "gather", .plan = gather, .scope = kMemory});
  // Half of a rank's memory is for what comes from others: room for a whole step of the group.
  ways.push_back({.name = "gather,whole", .plan = gather, .scope = kMemory, .memory_steps = 2});
  return ways;
}

bool enlist() {
  const WritePlan own_files = plan_of(Strategy::kFilePerProcess);
  WritePlan one_writer = plan_of(Strategy::kReducedBlocking);
  one_writer.writers = 1;
  WritePlan two_writers = one_writer;
  two_writers.writers = 2;
  for (Way way :
       {Way{"chosen"}, Way{"file-per-process", own_files},
        Way{"file-per-process,adopt", own_files, HandOver::kAdopt}, Way{"one-writer", one_writer},
        Way{"one-writer,adopt", one_writer, HandOver::kAdopt}, Way{"two-writers", two_writers}})
    register_contender(std::make_unique<Datasets>(std::move(way)));
  for (Way& way : ways_for_memory())
    register_contender(std::make_unique<Datasets>(std::move(way)));
  return true;
}

[[maybe_unused]] const bool kKnown = enlist();

}  // namespace

}  // namespace forebay::bench::checkpoint
