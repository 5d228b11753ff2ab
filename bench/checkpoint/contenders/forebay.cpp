// SPDX-License-Identifier: Apache-2.0
// Forebay's datasets as a contender: as a plan chooses, by strategies named, with a copy or with
// buffers that are given away, and read back by any number of ranks.
#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bench/checkpoint/contender.hpp"

namespace forebay::bench::checkpoint {

namespace {

enum class HandOver : std::uint8_t { kCopy, kAdopt };

struct Way {
  const char* name;
  WritePlan plan = {};
  HandOver hand_over = HandOver::kCopy;
};

/// The step's block is one part of one field, of 64-bit words.
constexpr const char* kField = "block";

std::string path_of(const Checkpoint& checkpoint) { return checkpoint.folder / "run.fb"; }

class DatasetWriter final : public Writer {
 public:
  DatasetWriter(const Team& team, const Way& way)
      : rank_(team.rank), hand_over_(way.hand_over), runtime_(team.communicator) {}

  Status open(const Checkpoint& checkpoint, WritePlan plan) {
    auto dataset = runtime_.dataset(path_of(checkpoint), plan);
    if (!dataset) return tl::unexpected<Error>(dataset.error());
    dataset_.emplace(std::move(*dataset));
    return {};
  }

  std::span<std::byte> memory_for(std::uint32_t /*step*/, std::span<std::byte> own) override {
    if (hand_over_ == HandOver::kCopy) return own;
    auto buffer = runtime_.allocate(own.size());
    if (!buffer) return own;
    buffer_ = std::move(*buffer);
    return buffer_.bytes();
  }

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    auto begun = dataset_->begin_step(step);
    if (!begun) return tl::unexpected<Error>(begun.error());
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
      if (!result && outcome) outcome = tl::unexpected<Error>(result.error());
    }
    const Status closed = dataset_ ? dataset_->close() : Status();
    return outcome ? closed : outcome;
  }

  Told told() const override { return {.staging_bytes = dataset_->report().staging_bytes_max}; }

 private:
  const std::uint32_t rank_;
  const HandOver hand_over_;
  Runtime runtime_;
  std::optional<Dataset> dataset_;
  Buffer buffer_;
  std::vector<Future<Receipt>> receipts_;
};

/// Reads as a restart does: which parts a rank wants is worked out from where its bytes lie.
class DatasetReader final : public Reader {
 public:
  DatasetReader(const Team& team, const Checkpoint& checkpoint)
      : checkpoint_(checkpoint), runtime_(team.communicator) {}

  Status open() {
    auto dataset = runtime_.open_dataset(path_of(checkpoint_));
    if (!dataset) return tl::unexpected<Error>(dataset.error());
    dataset_.emplace(std::move(*dataset));
    return {};
  }

  Result<std::span<const std::byte>> read(std::uint32_t step,
                                          const ByteRange& range,
                                          std::span<std::byte> room) override {
    const auto stored = dataset_->step(step);
    if (!stored) return tl::unexpected<Error>(stored.error());
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
      if (const auto done = piece.wait(); !done) return tl::unexpected<Error>(done.error());
    return into;
  }

 private:
  const Checkpoint checkpoint_;
  Runtime runtime_;
  std::optional<StoredDataset> dataset_;
};

class Datasets final : public Contender {
 public:
  explicit Datasets(Way way) : way_(std::move(way)) {}
  std::string name() const override { return std::string("forebay:") + way_.name; }
  std::uint32_t ranks_min() const override { return std::max(1U, way_.plan.writers); }
  Result<std::unique_ptr<Writer>> open(const Team& team,
                                       const Checkpoint& checkpoint) const override {
    auto writer = std::make_unique<DatasetWriter>(team, way_);
    if (const Status opened = writer->open(checkpoint, way_.plan); !opened)
      return tl::unexpected<Error>(opened.error());
    return writer;
  }
  bool can_read() const override { return true; }
  Result<std::unique_ptr<Reader>> open_to_read(const Team& team,
                                               const Checkpoint& checkpoint) const override {
    auto reader = std::make_unique<DatasetReader>(team, checkpoint);
    if (const Status opened = reader->open(); !opened) return tl::unexpected<Error>(opened.error());
    return reader;
  }

 private:
  const Way way_;
};

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
  return true;
}

[[maybe_unused]] const bool kKnown = enlist();

}  // namespace

}  // namespace forebay::bench::checkpoint
