// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/timed_call.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "bench/checkpoint/runtimes.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/statistics.hpp"
#include "shm/node_memory.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr const char* kField = "block";
/// Staging that plans choose without any facts.
constexpr std::uint64_t kStagingBytes = 64_MiB;
constexpr std::uint64_t kPieceBytes = 1_MiB;
constexpr std::uint64_t kPage = shm::kDirectAlignment;

void pause(const CallSettings& settings) {
  std::this_thread::sleep_for(std::chrono::duration<double>(settings.pause_s));
}

struct StepTimes {
  double call_s = 0;
  double all_s = 0;
};

/// Keeps the compiler from removing writes to this memory.
void do_not_optimize(std::span<const std::byte> bytes) {
  asm volatile("" : : "g"(bytes.data()) : "memory");
}

StepTimes copy_once(std::span<const std::byte> block,
                    std::span<std::byte> buffer,
                    std::uint64_t piece_bytes) {
  const Stopwatch watch;
  for (std::uint64_t at = 0; at < block.size(); at += piece_bytes)
    std::memcpy(buffer.data() + at, block.data() + at, std::min(piece_bytes, block.size() - at));
  do_not_optimize(buffer);
  const double seconds = watch.seconds();
  return {seconds, seconds};
}

WritePlan plan_for(TimedCall call) {
  WritePlan plan;
  plan.tuning.checksum_stage =
      call == TimedCall::kHashingPut ? ChecksumStage::kCopy : ChecksumStage::kAgent;
  return plan;
}

class CallTimer {
 public:
  CallTimer(const RankTeam& team, const CallSettings& settings, std::span<const std::byte> block)
      : runtime_(runtime_of(team)), rank_(team.rank), settings_(settings), block_(block) {}

  Status open(const Checkpoint& checkpoint) {
    auto dataset = runtime_.create_dataset(checkpoint.directory / "pieces.fb",
                                           {.plan = plan_for(settings_.call)});
    if (!dataset) return failure(dataset.error());
    dataset_.emplace(std::move(*dataset));
    return {};
  }

  Result<StepTimes> time_step(std::uint64_t number) {
    Buffer buffer;
    if (settings_.call == TimedCall::kAdopt) {
      auto made = runtime_.allocate(block_.size());
      if (!made) return failure(made.error());
      buffer = std::move(*made);
      std::memcpy(buffer.data(), block_.data(), block_.size());
    }
    pause(settings_);
    const Stopwatch watch;
    auto step = dataset_->begin_step(number);
    const double begun_s = watch.seconds();
    if (!step) return failure(step.error());
    const Status put = settings_.call == TimedCall::kAdopt
                           ? step->put<std::byte>(kField, Part{rank_}, adopt(std::move(buffer)))
                           : step->put(kField, Part{rank_}, block_);
    const double put_s = watch.seconds();
    if (!put) return failure(put.error());
    Future<Receipt> receipt = step->commit();
    const double all_s = watch.seconds();
    if (const auto durable = receipt.wait(); !durable) return failure(durable.error());
    if (settings_.call == TimedCall::kBeginStep) return StepTimes{begun_s, all_s};
    const double end_s = settings_.call == TimedCall::kAdopt ? all_s : put_s;
    return StepTimes{end_s - begun_s, all_s};
  }

  Status close() { return dataset_->close(); }

 private:
  Runtime& runtime_;
  const std::uint32_t rank_;
  const CallSettings settings_;
  const std::span<const std::byte> block_;
  std::optional<DatasetWriter> dataset_;
};

/// The first step allocates memory that later steps reuse, and creates the first file.
bool has_warm_up(const CallSettings& settings) {
  return settings.call != TimedCall::kBeginStep || settings.pause_s > 0;
}

Result<std::vector<StepTimes>> time_steps(const RankTeam& team,
                                          const Checkpoint& checkpoint,
                                          const CallSettings& settings,
                                          std::span<const std::byte> block) {
  CallTimer timer(team, settings, block);
  if (auto opened = agree(team, timer.open(checkpoint)); !opened) return failure(opened.error());
  std::vector<StepTimes> times;
  Status outcome;
  const std::uint64_t warm_ups = has_warm_up(settings) ? 1 : 0;
  for (std::uint64_t number = 0; outcome && number < settings.steps + warm_ups; ++number) {
    const auto one = timer.time_step(number);
    if (!one) outcome = failure(one.error());
    if (one && number >= warm_ups) times.push_back(*one);
  }
  const Status closed = timer.close();
  if (auto all = agree(team, outcome ? closed : outcome); !all) return failure(all.error());
  return times;
}

/// Copies into memory like staging: of the same size, in huge pages where available, used
/// cyclically. In one call or in pieces, as staging is filled, whichever is faster.
Result<std::vector<StepTimes>> time_copies(const CallSettings& settings,
                                           std::span<const std::byte> block) {
  const std::uint64_t copy_buffer_bytes =
      std::max(kStagingBytes, (block.size() + kPage - 1) / kPage * kPage);
  auto buffer = shm::NodeMemory::create("bench-room", copy_buffer_bytes);
  if (!buffer) return failure(buffer.error());
  if (auto taken = buffer->prefault({0, copy_buffer_bytes}); !taken) return failure(taken.error());
  std::vector<StepTimes> times;
  std::uint64_t offset = 0;
  for (std::uint32_t step = 0; step <= settings.steps; ++step) {
    if (offset + block.size() > copy_buffer_bytes) offset = 0;
    const auto into = buffer->bytes().subspan(offset, block.size());
    pause(settings);
    const StepTimes whole = copy_once(block, into, block.size());
    pause(settings);
    const StepTimes in_pieces = copy_once(block, into, kPieceBytes);
    if (step > 0) times.push_back(whole.call_s < in_pieces.call_s ? whole : in_pieces);
    offset += block.size();
  }
  return times;
}

double slowest_median(const RankTeam& team,
                      const std::vector<StepTimes>& times,
                      double StepTimes::* member) {
  std::vector<double> values;
  for (const StepTimes& one : times)
    values.push_back(one.*member);
  double median = summarize(std::move(values)).median;
  MPI_Allreduce(MPI_IN_PLACE, &median, 1, MPI_DOUBLE, MPI_MAX, team.communicator);
  return median;
}

}  // namespace

Result<TrialResult> measure_call(const RankTeam& team,
                                 const Checkpoint& checkpoint,
                                 const CallSettings& settings,
                                 std::span<const std::byte> block) {
  MPI_Barrier(team.communicator);
  const auto times = settings.call == TimedCall::kMemoryCopy
                         ? time_copies(settings, block)
                         : time_steps(team, checkpoint, settings, block);
  if (!times) return failure(times.error());
  return TrialResult{.blocked_s = slowest_median(team, *times, &StepTimes::call_s),
                     .total_s = slowest_median(team, *times, &StepTimes::all_s),
                     .payload_bytes = static_cast<double>(checkpoint.step_bytes())};
}

}  // namespace forebay::bench::checkpoint
