// SPDX-License-Identifier: Apache-2.0
// A baton over serial HDF5 (PMPIO): ranks in groups, a file for each group and step. The ranks of a
// group open it, write their HDF5 dataset and close it one after the other. The baton carries
// whether the ranks before could write.
#include <algorithm>

#include <hdf5.h>

#include "bench/checkpoint/candidate.hpp"
#include "bench/checkpoint/candidates/hdf5_handle.hpp"

namespace forebay::bench::checkpoint {

namespace {

using hdf5::Handle;

constexpr std::uint64_t kWordBytes = 8;
constexpr int kBatonTag = 77;

/// The ranks first ... last of a team write one file, in this order.
struct Group {
  std::uint32_t number = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// The first (ranks mod files) groups have one rank more.
Group group_of(std::uint32_t rank, std::uint32_t ranks, std::uint32_t files) {
  std::uint32_t first = 0;
  for (std::uint32_t number = 0;; ++number) {
    const std::uint32_t size = ranks / files + (number < ranks % files ? 1 : 0);
    if (rank < first + size) return {number, first, first + size - 1};
    first += size;
  }
}

class PmpioWriter final : public Writer {
 public:
  PmpioWriter(const RankTeam& team, Checkpoint checkpoint, std::uint32_t files)
      : team_(team),
        checkpoint_(std::move(checkpoint)),
        group_(group_of(team.rank, team.size, std::min(files, team.size))) {}

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    const bool is_first = team_.rank == group_.first;
    int baton = 1;
    if (!is_first) {
      MPI_Recv(&baton, 1, MPI_INT, static_cast<int>(team_.rank - 1), kBatonTag, team_.communicator,
               MPI_STATUS_IGNORE);
    }
    const Status done = baton == 1 ? write(path_of(step), is_first, block) : refused(step);
    baton = done ? 1 : 0;
    if (team_.rank != group_.last) {
      MPI_Ssend(&baton, 1, MPI_INT, static_cast<int>(team_.rank + 1), kBatonTag,
                team_.communicator);
    }
    return done;
  }
  Status close() override { return {}; }

 private:
  std::string path_of(std::uint32_t step) const {
    const std::string name =
        "step" + std::to_string(step) + "." + std::to_string(group_.number) + ".h5";
    return (checkpoint_.directory / name).string();
  }
  Status refused(std::uint32_t step) const {
    return failure({.kind = ErrorClass::kIo,
                    .operation = "write after another rank",
                    .path = path_of(step),
                    .cause = "that rank failed"});
  }
  Status write(const std::string& path, bool is_first, std::span<const std::byte> block) const {
    const hid_t opened = is_first ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                                  : H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    Handle file(opened, &H5Fclose);
    const Handle space = hdf5::simple_space(block.size() / kWordBytes);
    const std::string name = "part" + std::to_string(team_.rank);
    Handle set(H5Dcreate2(file.id(), name.c_str(), H5T_NATIVE_UINT64, space.id(), H5P_DEFAULT,
                          H5P_DEFAULT, H5P_DEFAULT),
               &H5Dclose);
    const herr_t written =
        H5Dwrite(set.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, block.data());
    set.close();
    const herr_t closed = file.close();
    return hdf5::status(std::min(written, closed), "write", path);
  }

  RankTeam team_;
  Checkpoint checkpoint_;
  Group group_;
};

class Pmpio final : public Candidate {
 public:
  Pmpio(std::string name, std::uint32_t files) : name_(std::move(name)), files_(files) {}

  std::string name() const override { return name_; }
  std::uint32_t ranks_min() const override { return files_; }
  Result<std::unique_ptr<Writer>> open(const RankTeam& team,
                                       const Checkpoint& checkpoint) const override {
    return std::make_unique<PmpioWriter>(team, checkpoint, files_);
  }

 private:
  std::string name_;
  std::uint32_t files_;
};

bool register_variant(const char* name, std::uint32_t files) {
  return register_candidate(std::make_unique<Pmpio>(name, files));
}

[[maybe_unused]] const bool kRegistered[] = {register_variant("pmpio:1-file", 1),
                                             register_variant("pmpio:2-files", 2)};

}  // namespace

}  // namespace forebay::bench::checkpoint
