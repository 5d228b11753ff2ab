// SPDX-License-Identifier: Apache-2.0
// PnetCDF: one file in the format CDF-5 for the run, a variable for each step, written and read
// collectively. Its numbers are big-endian in the file, as in every CDF-5 file.
#include <vector>

#include <pnetcdf.h>

#include "bench/checkpoint/candidate.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr std::uint64_t kWordBytes = 8;

std::string path_of(const Checkpoint& checkpoint) {
  return (checkpoint.directory / "run.nc").string();
}

Status status(int code, const char* operation, const Checkpoint& checkpoint) {
  if (code == NC_NOERR) return {};
  return failure({.kind = ErrorClass::kIo,
                  .operation = operation,
                  .path = path_of(checkpoint),
                  .cause = ncmpi_strerror(code)});
}

class PnetcdfWriter final : public Writer {
 public:
  PnetcdfWriter(const RankTeam& team, Checkpoint checkpoint)
      : rank_(team.rank), checkpoint_(std::move(checkpoint)), variables_(checkpoint_.steps) {}

  Status define(const RankTeam& team) {
    const int mode = NC_CLOBBER | NC_64BIT_DATA;
    const std::string path = path_of(checkpoint_);
    int code = ncmpi_create(team.communicator, path.c_str(), mode, MPI_INFO_NULL, &file_);
    if (code != NC_NOERR) return status(code, "create", checkpoint_);
    int dimension = 0;
    const auto words = static_cast<MPI_Offset>(checkpoint_.step_bytes() / kWordBytes);
    code = ncmpi_def_dim(file_, "words", words, &dimension);
    for (std::uint32_t step = 0; step < checkpoint_.steps && code == NC_NOERR; ++step) {
      const std::string name = "step" + std::to_string(step);
      code = ncmpi_def_var(file_, name.c_str(), NC_UINT64, 1, &dimension, &variables_[step]);
    }
    const int ended = ncmpi_enddef(file_);
    return status(code == NC_NOERR ? ended : code, "define", checkpoint_);
  }

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    const auto begin = static_cast<MPI_Offset>(checkpoint_.offset_of(rank_) / kWordBytes);
    const auto count = static_cast<MPI_Offset>(block.size() / kWordBytes);
    const int code =
        ncmpi_put_vara_ulonglong_all(file_, variables_[step], &begin, &count,
                                     reinterpret_cast<const unsigned long long*>(block.data()));
    return status(code, "write", checkpoint_);
  }
  Status close() override { return status(ncmpi_close(file_), "close", checkpoint_); }

 private:
  std::uint32_t rank_;
  Checkpoint checkpoint_;
  std::vector<int> variables_;
  int file_ = -1;
};

class PnetcdfReader final : public Reader {
 public:
  explicit PnetcdfReader(Checkpoint checkpoint) : checkpoint_(std::move(checkpoint)) {}

  Status open(const RankTeam& team) {
    const std::string path = path_of(checkpoint_);
    const int code = ncmpi_open(team.communicator, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file_);
    return status(code, "open", checkpoint_);
  }
  Result<std::span<const std::byte>> read(std::uint32_t step,
                                          const ByteRange& range,
                                          std::span<std::byte> buffer) override {
    int variable = -1;
    const std::string name = "step" + std::to_string(step);
    const int found = ncmpi_inq_varid(file_, name.c_str(), &variable);
    const auto begin = static_cast<MPI_Offset>(range.offset / kWordBytes);
    const auto count = static_cast<MPI_Offset>(range.size / kWordBytes);
    const int code = ncmpi_get_vara_ulonglong_all(
        file_, variable, &begin, &count, reinterpret_cast<unsigned long long*>(buffer.data()));
    if (auto done = status(found == NC_NOERR ? code : found, "read", checkpoint_); !done)
      return failure(done.error());
    return buffer.first(range.size);
  }
  Status close() override { return status(ncmpi_close(file_), "close", checkpoint_); }

 private:
  Checkpoint checkpoint_;
  int file_ = -1;
};

class Pnetcdf final : public Candidate {
 public:
  std::string name() const override { return "pnetcdf"; }
  bool can_read() const override { return true; }
  Result<std::unique_ptr<Writer>> open(const RankTeam& team,
                                       const Checkpoint& checkpoint) const override {
    auto writer = std::make_unique<PnetcdfWriter>(team, checkpoint);
    if (auto defined = writer->define(team); !defined) return failure(defined.error());
    return writer;
  }
  Result<std::unique_ptr<Reader>> open_to_read(const RankTeam& team,
                                               const Checkpoint& checkpoint) const override {
    auto reader = std::make_unique<PnetcdfReader>(checkpoint);
    if (auto opened = reader->open(team); !opened) return failure(opened.error());
    return reader;
  }
};

[[maybe_unused]] const bool kRegistered = register_candidate(std::make_unique<Pnetcdf>());

}  // namespace

}  // namespace forebay::bench::checkpoint
