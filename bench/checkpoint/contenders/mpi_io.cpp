// SPDX-License-Identifier: Apache-2.0
// MPI-IO, one file for each step: every rank writes its block by itself, or all write together.
// What "together" means is the MPI library's choice, so it is asked with aggregation and without.
#include <algorithm>
#include <limits>

#include <mpi.h>

#include "bench/checkpoint/contender.hpp"
#include "bench/checkpoint/mpi_status.hpp"

namespace forebay::bench::checkpoint {

namespace {

enum class Way : std::uint8_t { kIndependent, kCollective, kCollectiveNoAggregation };

class MpiIoWriter final : public Writer {
 public:
  MpiIoWriter(Way way, const Team& team, Checkpoint checkpoint)
      : way_(way), team_(team), checkpoint_(std::move(checkpoint)) {
    MPI_Info_create(&hints_);
    if (way_ == Way::kCollectiveNoAggregation) MPI_Info_set(hints_, "romio_cb_write", "disable");
    // Words, as one call takes no more than 2^31 - 1 of anything.
    MPI_Type_contiguous(static_cast<int>(sizeof(std::uint64_t)), MPI_BYTE, &word_);
    MPI_Type_commit(&word_);
  }
  ~MpiIoWriter() override {
    MPI_Type_free(&word_);
    MPI_Info_free(&hints_);
  }

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    const std::string path = (checkpoint_.folder / ("step" + std::to_string(step))).string();
    MPI_File file = MPI_FILE_NULL;
    const int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
    if (auto opened = mpi_status(
            MPI_File_open(team_.communicator, path.c_str(), mode, hints_, &file), "open", path);
        !opened)
      return opened;
    const Status written = mpi_status(write(file, block), "write", path);
    const Status closed = mpi_status(MPI_File_close(&file), "close", path);
    return written ? closed : written;
  }
  Status close() override { return {}; }

 private:
  int write(MPI_File file, std::span<const std::byte> block) {
    const auto at = static_cast<MPI_Offset>(checkpoint_.offset_of(team_.rank));
    const int words = static_cast<int>(block.size() / sizeof(std::uint64_t));
    if (way_ == Way::kIndependent)
      return MPI_File_write_at(file, at, block.data(), words, word_, MPI_STATUS_IGNORE);
    return MPI_File_write_at_all(file, at, block.data(), words, word_, MPI_STATUS_IGNORE);
  }

  Way way_;
  Team team_;
  Checkpoint checkpoint_;
  MPI_Info hints_ = MPI_INFO_NULL;
  MPI_Datatype word_ = MPI_DATATYPE_NULL;
};

class MpiIo final : public Contender {
 public:
  MpiIo(std::string name, Way way) : name_(std::move(name)), way_(way) {}

  std::string name() const override { return name_; }
  Result<std::unique_ptr<Writer>> open(const Team& team,
                                       const Checkpoint& checkpoint) const override {
    constexpr std::uint64_t kWordsMax = std::numeric_limits<int>::max();
    for (const std::uint64_t bytes : checkpoint.block_bytes) {
      if (bytes / sizeof(std::uint64_t) > kWordsMax)
        return failure({.kind = ErrorClass::kLimit, .operation = "write a block with MPI-IO"});
    }
    return std::make_unique<MpiIoWriter>(way_, team, checkpoint);
  }

 private:
  std::string name_;
  Way way_;
};

bool known(const char* name, Way way) {
  return register_contender(std::make_unique<MpiIo>(name, way));
}

[[maybe_unused]] const bool kKnown[] = {
    known("mpi-io:independent", Way::kIndependent), known("mpi-io:collective", Way::kCollective),
#ifdef MPICH_VERSION  // the hint is ROMIO's: Open MPI would do the same as without it
    known("mpi-io:collective-no-aggregation", Way::kCollectiveNoAggregation)
#endif
};

}  // namespace

}  // namespace forebay::bench::checkpoint
