// SPDX-License-Identifier: Apache-2.0
// MPI-IO, one file for each step: every rank writes its block independently, or all write
// collectively. The MPI library chooses how collective writes are done, so they are measured with
// aggregation and without.
#include <algorithm>
#include <limits>

#include <mpi.h>

#include "bench/checkpoint/candidate.hpp"
#include "bench/checkpoint/mpi_status.hpp"

namespace forebay::bench::checkpoint {

namespace {

enum class FileMode : std::uint8_t { kIndependent, kCollective, kCollectiveNoAggregation };

class MpiIoWriter final : public Writer {
 public:
  MpiIoWriter(FileMode io_mode, const RankTeam& team, Checkpoint checkpoint)
      : io_mode_(io_mode), team_(team), checkpoint_(std::move(checkpoint)) {
    MPI_Info_create(&hints_);
    if (io_mode_ == FileMode::kCollectiveNoAggregation)
      MPI_Info_set(hints_, "romio_cb_write", "disable");
    // Words, because one call transfers at most 2^31 - 1 elements.
    MPI_Type_contiguous(static_cast<int>(sizeof(std::uint64_t)), MPI_BYTE, &word_);
    MPI_Type_commit(&word_);
  }
  ~MpiIoWriter() override {
    MPI_Type_free(&word_);
    MPI_Info_free(&hints_);
  }

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    const std::string path = (checkpoint_.directory / ("step" + std::to_string(step))).string();
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
    if (io_mode_ == FileMode::kIndependent)
      return MPI_File_write_at(file, at, block.data(), words, word_, MPI_STATUS_IGNORE);
    return MPI_File_write_at_all(file, at, block.data(), words, word_, MPI_STATUS_IGNORE);
  }

  FileMode io_mode_;
  RankTeam team_;
  Checkpoint checkpoint_;
  MPI_Info hints_ = MPI_INFO_NULL;
  MPI_Datatype word_ = MPI_DATATYPE_NULL;
};

class MpiIo final : public Candidate {
 public:
  MpiIo(std::string name, FileMode io_mode) : name_(std::move(name)), io_mode_(io_mode) {}

  std::string name() const override { return name_; }
  Result<std::unique_ptr<Writer>> open(const RankTeam& team,
                                       const Checkpoint& checkpoint) const override {
    constexpr std::uint64_t kWordsMax = std::numeric_limits<int>::max();
    for (const std::uint64_t bytes : checkpoint.block_bytes) {
      if (bytes / sizeof(std::uint64_t) > kWordsMax)
        return failure({.kind = ErrorClass::kLimit, .operation = "write a block with MPI-IO"});
    }
    return std::make_unique<MpiIoWriter>(io_mode_, team, checkpoint);
  }

 private:
  std::string name_;
  FileMode io_mode_;
};

bool register_variant(const char* name, FileMode io_mode) {
  return register_candidate(std::make_unique<MpiIo>(name, io_mode));
}

[[maybe_unused]] const bool kRegistered[] = {
    register_variant("mpi-io:independent", FileMode::kIndependent),
    register_variant("mpi-io:collective", FileMode::kCollective),
#ifdef MPICH_VERSION  // a hint of ROMIO, which Open MPI ignores
    register_variant("mpi-io:collective-no-aggregation", FileMode::kCollectiveNoAggregation)
#endif
};

}  // namespace

}  // namespace forebay::bench::checkpoint
