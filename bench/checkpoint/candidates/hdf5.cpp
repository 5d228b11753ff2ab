// SPDX-License-Identifier: Apache-2.0
// Parallel HDF5: one file for the run, an HDF5 dataset for each step. A flush syncs the file;
// without one, a killed run loses it. No other candidates sync in each step except those named so,
// so HDF5 is measured with and without.
#include <hdf5.h>

#include "bench/checkpoint/candidate.hpp"
#include "bench/checkpoint/candidates/hdf5_handle.hpp"

namespace forebay::bench::checkpoint {

namespace {

using hdf5::Handle;

enum class Transfer : std::uint8_t { kIndependent, kCollective };
enum class FlushPolicy : std::uint8_t { kNone, kEachStep };

struct Hdf5Options {
  Transfer transfer = Transfer::kIndependent;
  FlushPolicy flush_policy = FlushPolicy::kNone;
};

constexpr std::uint64_t kWordBytes = 8;

std::string path_of(const Checkpoint& checkpoint) {
  return (checkpoint.directory / "run.h5").string();
}

std::string name_of_step(std::uint32_t step) { return "step" + std::to_string(step); }

Handle parallel_access(const RankTeam& team) {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), &H5Pclose);
  H5Pset_fapl_mpio(access.id(), team.communicator, MPI_INFO_NULL);
  return access;
}

Handle transfer_of(const Hdf5Options& options) {
  Handle transfer(H5Pcreate(H5P_DATASET_XFER), &H5Pclose);
  H5Pset_dxpl_mpio(transfer.id(), options.transfer == Transfer::kCollective
                                      ? H5FD_MPIO_COLLECTIVE
                                      : H5FD_MPIO_INDEPENDENT);
  return transfer;
}

class Hdf5Writer final : public Writer {
 public:
  Hdf5Writer(const Hdf5Options& options, const RankTeam& team, Checkpoint checkpoint)
      : rank_(team.rank),
        flush_policy_(options.flush_policy),
        checkpoint_(std::move(checkpoint)),
        transfer_(transfer_of(options)) {
    const Handle access = parallel_access(team);
    file_ = Handle(H5Fcreate(path_of(checkpoint_).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()),
                   &H5Fclose);
  }

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    const std::string path = path_of(checkpoint_);
    const hsize_t words = checkpoint_.step_bytes() / kWordBytes;
    const hsize_t count = block.size() / kWordBytes;
    const Handle full_space = hdf5::simple_space(words);
    const Handle set(H5Dcreate2(file_.id(), name_of_step(step).c_str(), H5T_NATIVE_UINT64,
                                full_space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     &H5Dclose);
    const Handle file_space =
        hdf5::hyperslab(words, checkpoint_.offset_of(rank_) / kWordBytes, count);
    const Handle memory_space = hdf5::simple_space(count);
    const herr_t written = H5Dwrite(set.id(), H5T_NATIVE_UINT64, memory_space.id(), file_space.id(),
                                    transfer_.id(), block.data());
    const herr_t flushed =
        flush_policy_ == FlushPolicy::kEachStep ? H5Fflush(file_.id(), H5F_SCOPE_GLOBAL) : 0;
    if (written < 0) return hdf5::status(written, "write", path);
    return hdf5::status(flushed, "flush", path);
  }
  Status close() override { return hdf5::status(file_.close(), "close", path_of(checkpoint_)); }

 private:
  std::uint32_t rank_;
  FlushPolicy flush_policy_;
  Checkpoint checkpoint_;
  Handle transfer_;
  Handle file_;
};

class Hdf5Reader final : public Reader {
 public:
  Hdf5Reader(const Hdf5Options& options, const RankTeam& team, Checkpoint checkpoint)
      : checkpoint_(std::move(checkpoint)), transfer_(transfer_of(options)) {
    const Handle access = parallel_access(team);
    file_ = Handle(H5Fopen(path_of(checkpoint_).c_str(), H5F_ACC_RDONLY, access.id()), &H5Fclose);
  }

  Result<std::span<const std::byte>> read(std::uint32_t step,
                                          const ByteRange& range,
                                          std::span<std::byte> buffer) override {
    const hsize_t words = checkpoint_.step_bytes() / kWordBytes;
    const hsize_t count = range.size / kWordBytes;
    const Handle set(H5Dopen2(file_.id(), name_of_step(step).c_str(), H5P_DEFAULT), &H5Dclose);
    const Handle file_space = hdf5::hyperslab(words, range.offset / kWordBytes, count);
    const Handle memory_space = hdf5::simple_space(count);
    const herr_t taken = H5Dread(set.id(), H5T_NATIVE_UINT64, memory_space.id(), file_space.id(),
                                 transfer_.id(), buffer.data());
    if (auto done = hdf5::status(taken, "read", path_of(checkpoint_)); !done)
      return failure(done.error());
    return buffer.first(range.size);
  }
  Status close() override { return hdf5::status(file_.close(), "close", path_of(checkpoint_)); }

 private:
  Checkpoint checkpoint_;
  Handle transfer_;
  Handle file_;
};

class Hdf5 final : public Candidate {
 public:
  Hdf5(std::string name, const Hdf5Options& options) : name_(std::move(name)), options_(options) {}

  std::string name() const override { return name_; }
  /// Files with and without flushes are the same, so only one of both reads them.
  bool can_read() const override { return options_.flush_policy == FlushPolicy::kNone; }
  Result<std::unique_ptr<Writer>> open(const RankTeam& team,
                                       const Checkpoint& checkpoint) const override {
    return std::make_unique<Hdf5Writer>(options_, team, checkpoint);
  }
  Result<std::unique_ptr<Reader>> open_to_read(const RankTeam& team,
                                               const Checkpoint& checkpoint) const override {
    return std::make_unique<Hdf5Reader>(options_, team, checkpoint);
  }

 private:
  std::string name_;
  Hdf5Options options_;
};

bool register_variant(const char* name, const Hdf5Options& options) {
  return register_candidate(std::make_unique<Hdf5>(name, options));
}

[[maybe_unused]] const bool kRegistered[] = {
    register_variant("hdf5:independent", {Transfer::kIndependent}),
    register_variant("hdf5:independent,flushed", {Transfer::kIndependent, FlushPolicy::kEachStep}),
    register_variant("hdf5:collective", {Transfer::kCollective}),
    register_variant("hdf5:collective,flushed", {Transfer::kCollective, FlushPolicy::kEachStep})};

}  // namespace

}  // namespace forebay::bench::checkpoint
