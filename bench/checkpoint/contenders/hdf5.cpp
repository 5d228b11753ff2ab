// SPDX-License-Identifier: Apache-2.0
// Parallel HDF5: one file for the run, a data set for each step. A flush syncs the file, and
// without one a run that is killed loses it; nobody else but those whose name says so syncs in each
// step, so it is measured both ways.
#include <hdf5.h>

#include "bench/checkpoint/contender.hpp"
#include "bench/checkpoint/contenders/hdf5_calls.hpp"

namespace forebay::bench::checkpoint {

namespace {

using hdf5::Handle;

enum class Transfer : std::uint8_t { kIndependent, kCollective };
enum class AfterStep : std::uint8_t { kNothing, kFlush };

struct Way {
  Transfer transfer = Transfer::kIndependent;
  AfterStep after_step = AfterStep::kNothing;
};

constexpr std::uint64_t kWordBytes = 8;

std::string path_of(const Checkpoint& checkpoint) {
  return (checkpoint.folder / "run.h5").string();
}

std::string name_of_step(std::uint32_t step) { return "step" + std::to_string(step); }

Handle parallel_access(const Team& team) {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), &H5Pclose);
  H5Pset_fapl_mpio(access.id(), team.communicator, MPI_INFO_NULL);
  return access;
}

Handle transfer_of(const Way& way) {
  Handle transfer(H5Pcreate(H5P_DATASET_XFER), &H5Pclose);
  H5Pset_dxpl_mpio(transfer.id(), way.transfer == Transfer::kCollective ? H5FD_MPIO_COLLECTIVE
                                                                        : H5FD_MPIO_INDEPENDENT);
  return transfer;
}

class Hdf5Writer final : public Writer {
 public:
  Hdf5Writer(const Way& way, const Team& team, Checkpoint checkpoint)
      : rank_(team.rank),
        after_step_(way.after_step),
        checkpoint_(std::move(checkpoint)),
        transfer_(transfer_of(way)) {
    const Handle access = parallel_access(team);
    file_ = Handle(H5Fcreate(path_of(checkpoint_).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()),
                   &H5Fclose);
  }

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    const std::string path = path_of(checkpoint_);
    const hsize_t words = checkpoint_.step_bytes() / kWordBytes;
    const hsize_t count = block.size() / kWordBytes;
    const Handle everything = hdf5::line(words);
    const Handle set(H5Dcreate2(file_.id(), name_of_step(step).c_str(), H5T_NATIVE_UINT64,
                                everything.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     &H5Dclose);
    const Handle there = hdf5::part_of(words, checkpoint_.offset_of(rank_) / kWordBytes, count);
    const Handle here = hdf5::line(count);
    const herr_t written =
        H5Dwrite(set.id(), H5T_NATIVE_UINT64, here.id(), there.id(), transfer_.id(), block.data());
    const herr_t flushed =
        after_step_ == AfterStep::kFlush ? H5Fflush(file_.id(), H5F_SCOPE_GLOBAL) : 0;
    if (written < 0) return hdf5::status(written, "write", path);
    return hdf5::status(flushed, "flush", path);
  }
  Status close() override { return hdf5::status(file_.close(), "close", path_of(checkpoint_)); }

 private:
  std::uint32_t rank_;
  AfterStep after_step_;
  Checkpoint checkpoint_;
  Handle transfer_;
  Handle file_;
};

class Hdf5Reader final : public Reader {
 public:
  Hdf5Reader(const Way& way, const Team& team, Checkpoint checkpoint)
      : checkpoint_(std::move(checkpoint)), transfer_(transfer_of(way)) {
    const Handle access = parallel_access(team);
    file_ = Handle(H5Fopen(path_of(checkpoint_).c_str(), H5F_ACC_RDONLY, access.id()), &H5Fclose);
  }

  Result<std::span<const std::byte>> read(std::uint32_t step,
                                          const ByteRange& range,
                                          std::span<std::byte> room) override {
    const hsize_t words = checkpoint_.step_bytes() / kWordBytes;
    const hsize_t count = range.size / kWordBytes;
    const Handle set(H5Dopen2(file_.id(), name_of_step(step).c_str(), H5P_DEFAULT), &H5Dclose);
    const Handle there = hdf5::part_of(words, range.offset / kWordBytes, count);
    const Handle here = hdf5::line(count);
    const herr_t taken =
        H5Dread(set.id(), H5T_NATIVE_UINT64, here.id(), there.id(), transfer_.id(), room.data());
    if (auto done = hdf5::status(taken, "read", path_of(checkpoint_)); !done)
      return failure(done.error());
    return room.first(range.size);
  }
  Status close() override { return hdf5::status(file_.close(), "close", path_of(checkpoint_)); }

 private:
  Checkpoint checkpoint_;
  Handle transfer_;
  Handle file_;
};

class Hdf5 final : public Contender {
 public:
  Hdf5(std::string name, const Way& way) : name_(std::move(name)), way_(way) {}

  std::string name() const override { return name_; }
  /// Files are the same, flushed in each step or not: one of both reads them.
  bool can_read() const override { return way_.after_step == AfterStep::kNothing; }
  Result<std::unique_ptr<Writer>> open(const Team& team,
                                       const Checkpoint& checkpoint) const override {
    return std::make_unique<Hdf5Writer>(way_, team, checkpoint);
  }
  Result<std::unique_ptr<Reader>> open_to_read(const Team& team,
                                               const Checkpoint& checkpoint) const override {
    return std::make_unique<Hdf5Reader>(way_, team, checkpoint);
  }

 private:
  std::string name_;
  Way way_;
};

bool known(const char* name, const Way& way) {
  return register_contender(std::make_unique<Hdf5>(name, way));
}

[[maybe_unused]] const bool kKnown[] = {
    known("hdf5:independent", {Transfer::kIndependent}),
    known("hdf5:independent,flushed", {Transfer::kIndependent, AfterStep::kFlush}),
    known("hdf5:collective", {Transfer::kCollective}),
    known("hdf5:collective,flushed", {Transfer::kCollective, AfterStep::kFlush})};

}  // namespace

}  // namespace forebay::bench::checkpoint
