// SPDX-License-Identifier: Apache-2.0
// ADIOS 1.13 with MPI_AGGREGATE: each aggregator writes a file, and receives blocks along a chain
// (brigade) or all at once (gather). One or two aggregators, each measured; a set of files for each
// step.
#include <adios.h>

#include "bench/checkpoint/candidate.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr std::uint64_t kWordBytes = 8;
constexpr std::uint64_t kMebibyte = 1ULL << 20U;

/// Values of the method's parameter.
enum class AggregationType : std::uint8_t { kGather = 1, kBrigade = 2 };

struct Aggregation {
  AggregationType type = AggregationType::kBrigade;
  std::uint32_t aggregators = 1;
};

Status status(int code, const char* operation, const std::string& path) {
  if (code == 0) return {};
  return failure({.kind = ErrorClass::kIo,
                  .operation = operation,
                  .path = path,
                  .cause = "ADIOS failed; see its message above"});
}

/// Once in a process. Communication between ranks at initialization is for XML configuration, which
/// is not used.
int initialize() {
  static const int outcome = adios_init_noxml(MPI_COMM_SELF);
  return outcome;
}

/// Without striping, which is for Lustre alone.
std::string parameters_of(const Aggregation& aggregation) {
  const std::string number = std::to_string(aggregation.aggregators);
  return "num_aggregators=" + number + ";num_ost=" + number +
         ";aggregation_type=" + std::to_string(static_cast<int>(aggregation.type)) +
         ";striping=0;verbose=1";
}

class Adios1Writer final : public Writer {
 public:
  Adios1Writer(const RankTeam& team, Checkpoint checkpoint, unsigned run)
      : team_(team),
        checkpoint_(std::move(checkpoint)),
        group_name_("checkpoint" + std::to_string(run)) {}
  ~Adios1Writer() override {
    if (is_declared_) adios_free_group(group_);
  }

  Status define(const Aggregation& aggregation) {
    const std::uint64_t block_bytes = checkpoint_.block_bytes[team_.rank];
    adios_set_max_buffer_size(2 * block_bytes / kMebibyte + 64);
    const int declared = adios_declare_group(&group_, group_name_.c_str(), "", adios_stat_no);
    if (declared != 0) return status(declared, "declare a group", group_name_);
    is_declared_ = true;
    const int selected =
        adios_select_method(group_, "MPI_AGGREGATE", parameters_of(aggregation).c_str(), "");
    if (selected != 0) return status(selected, "select MPI_AGGREGATE", group_name_);
    const std::string local = std::to_string(block_bytes / kWordBytes);
    const std::string global = std::to_string(checkpoint_.step_bytes() / kWordBytes);
    const std::string begin = std::to_string(checkpoint_.offset_of(team_.rank) / kWordBytes);
    variable_ = adios_define_var(group_, "words", "", adios_unsigned_long, local.c_str(),
                                 global.c_str(), begin.c_str());
    return status(variable_ == 0 ? 1 : 0, "define a variable", group_name_);
  }

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    const std::string path =
        (checkpoint_.directory / ("step" + std::to_string(step) + ".bp")).string();
    std::int64_t file = 0;
    const int opened =
        adios_open(&file, group_name_.c_str(), path.c_str(), "w", team_.communicator);
    if (opened != 0) return status(opened, "open", path);
    std::uint64_t total_bytes = 0;
    const int sized = adios_group_size(file, block.size(), &total_bytes);
    const int written = adios_write_byid(file, variable_, block.data());
    const int closed = adios_close(file);
    if (sized != 0) return status(sized, "set the size of a group", path);
    return written != 0 ? status(written, "write", path) : status(closed, "close", path);
  }
  Status close() override { return {}; }

 private:
  RankTeam team_;
  Checkpoint checkpoint_;
  std::string group_name_;
  std::int64_t group_ = 0;
  bool is_declared_ = false;
  std::int64_t variable_ = 0;
};

class Adios1 final : public Candidate {
 public:
  Adios1(std::string name, const Aggregation& aggregation)
      : name_(std::move(name)), aggregation_(aggregation) {}

  std::string name() const override { return name_; }
  std::uint32_t ranks_min() const override { return aggregation_.aggregators; }
  /// Names of groups differ from run to run and are equal on all ranks. Some ranks may have had
  /// runs without others, so the first rank, which is in all runs, assigns the number.
  Result<MemorySpans> prepare(const RankTeam& team,
                              const Checkpoint& /*checkpoint*/) const override {
    static unsigned runs = 0;
    run_ = runs++;
    MPI_Bcast(&run_, 1, MPI_UNSIGNED, 0, team.communicator);
    return MemorySpans();
  }
  Result<std::unique_ptr<Writer>> open(const RankTeam& team,
                                       const Checkpoint& checkpoint) const override {
    if (auto begun = status(initialize(), "begin ADIOS", checkpoint.directory.string()); !begun)
      return failure(begun.error());
    auto writer = std::make_unique<Adios1Writer>(team, checkpoint, run_);
    if (auto defined = writer->define(aggregation_); !defined) return failure(defined.error());
    return writer;
  }

 private:
  std::string name_;
  Aggregation aggregation_;
  mutable unsigned run_ = 0;  // from prepare() to open()
};

bool register_variant(const char* name, const Aggregation& aggregation) {
  return register_candidate(std::make_unique<Adios1>(name, aggregation));
}

[[maybe_unused]] const bool kRegistered[] = {
    register_variant("adios1:brigade", {AggregationType::kBrigade, 1}),
    register_variant("adios1:brigade-2", {AggregationType::kBrigade, 2}),
    register_variant("adios1:gather", {AggregationType::kGather, 1}),
    register_variant("adios1:gather-2", {AggregationType::kGather, 2})};

}  // namespace

}  // namespace forebay::bench::checkpoint
