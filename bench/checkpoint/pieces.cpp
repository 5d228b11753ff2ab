// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/pieces.hpp"

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
/// What plans choose for staging where they know nothing.
constexpr std::uint64_t kStagingBytes = 64_MiB;
constexpr std::uint64_t kPieceBytes = 1_MiB;
constexpr std::uint64_t kPage = shm::kDirectBytes;

void pause(const PieceSettings& settings) {
  std::this_thread::sleep_for(std::chrono::duration<double>(settings.pause_s));
}

struct StepTimes {
  double call_s = 0;
  double all_s = 0;
};

/// Lets nothing be known of what lies there, so that writing it is not optimised away.
void keep(std::span<const std::byte> bytes) { asm volatile("" : : "g"(bytes.data()) : "memory"); }

StepTimes copy_once(std::span<const std::byte> block,
                    std::span<std::byte> room,
                    std::uint64_t piece_bytes) {
  const Stopwatch watch;
  for (std::uint64_t at = 0; at < block.size(); at += piece_bytes)
    std::memcpy(room.data() + at, block.data() + at, std::min(piece_bytes, block.size() - at));
  keep(room);
  const double seconds = watch.seconds();
  return {seconds, seconds};
}

WritePlan plan_for(Piece piece) {
  WritePlan plan;
  plan.checksum_by = piece == Piece::kHashingPut ? ChecksumBy::kCopy : ChecksumBy::kAgent;
  return plan;
}

class StepTaker {
 public:
  StepTaker(const Team& team, const PieceSettings& settings, std::span<const std::byte> block)
      : runtime_(runtime_of(team)), rank_(team.rank), settings_(settings), block_(block) {}

  Status open(const Checkpoint& checkpoint) {
    auto dataset = runtime_.dataset(checkpoint.folder / "pieces.fb", plan_for(settings_.piece));
    if (!dataset) return failure(dataset.error());
    dataset_.emplace(std::move(*dataset));
    return {};
  }

  Result<StepTimes> take(std::uint64_t number) {
    Buffer buffer;
    if (settings_.piece == Piece::kAdopt) {
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
    const Status put = settings_.piece == Piece::kAdopt
                           ? step->put<std::byte>(kField, Part{rank_}, adopt(std::move(buffer)))
                           : step->put(kField, Part{rank_}, block_);
    const double put_s = watch.seconds();
    if (!put) return failure(put.error());
    Future<Receipt> receipt = step->commit();
    const double all_s = watch.seconds();
    if (const auto durable = receipt.wait(); !durable) return failure(durable.error());
    if (settings_.piece == Piece::kBeginStep) return StepTimes{begun_s, all_s};
    const double end_s = settings_.piece == Piece::kAdopt ? all_s : put_s;
    return StepTimes{end_s - begun_s, all_s};
  }

  Status close() { return dataset_->close(); }

 private:
  Runtime& runtime_;
  const std::uint32_t rank_;
  const PieceSettings settings_;
  const std::span<const std::byte> block_;
  std::optional<Dataset> dataset_;
};

/// The first one takes memory that later ones use again, and makes the first file.
bool has_warm_up(const PieceSettings& settings) {
  return settings.piece != Piece::kBeginStep || settings.pause_s > 0;
}

Result<std::vector<StepTimes>> take_steps(const Team& team,
                                          const Checkpoint& checkpoint,
                                          const PieceSettings& settings,
                                          std::span<const std::byte> block) {
  StepTaker taker(team, settings, block);
  if (auto opened = agree(team, taker.open(checkpoint)); !opened) return failure(opened.error());
  std::vector<StepTimes> times;
  Status outcome;
  const std::uint64_t warm_ups = has_warm_up(settings) ? 1 : 0;
  for (std::uint64_t number = 0; outcome && number < settings.steps + warm_ups; ++number) {
    const auto one = taker.take(number);
    if (!one) outcome = failure(one.error());
    if (one && number >= warm_ups) times.push_back(*one);
  }
  const Status closed = taker.close();
  if (auto all = agree(team, outcome ? closed : outcome); !all) return failure(all.error());
  return times;
}

/// Into memory as staging is: as large, of huge pages where there are some, and used in turn. In
/// one call or a piece at a time, as staging is filled, whichever is faster here.
Result<std::vector<StepTimes>> take_copies(const PieceSettings& settings,
                                           std::span<const std::byte> block) {
  const std::uint64_t room_bytes =
      std::max(kStagingBytes, (block.size() + kPage - 1) / kPage * kPage);
  auto room = shm::NodeMemory::create("bench-room", room_bytes);
  if (!room) return failure(room.error());
  if (auto taken = room->prefault({0, room_bytes}); !taken) return failure(taken.error());
  std::vector<StepTimes> times;
  std::uint64_t offset = 0;
  for (std::uint32_t step = 0; step <= settings.steps; ++step) {
    if (offset + block.size() > room_bytes) offset = 0;
    const auto into = room->bytes().subspan(offset, block.size());
    pause(settings);
    const StepTimes whole = copy_once(block, into, block.size());
    pause(settings);
    const StepTimes in_pieces = copy_once(block, into, kPieceBytes);
    if (step > 0) times.push_back(whole.call_s < in_pieces.call_s ? whole : in_pieces);
    offset += block.size();
  }
  return times;
}

double slowest_median(const Team& team,
                      const std::vector<StepTimes>& times,
                      double StepTimes::* member) {
  std::vector<double> values;
  for (const StepTimes& one : times)
    values.push_back(one.*member);
  double median = summarise(std::move(values)).median;
  MPI_Allreduce(MPI_IN_PLACE, &median, 1, MPI_DOUBLE, MPI_MAX, team.communicator);
  return median;
}

}  // namespace

Result<Measured> measure_piece(const Team& team,
                               const Checkpoint& checkpoint,
                               const PieceSettings& settings,
                               std::span<const std::byte> block) {
  MPI_Barrier(team.communicator);
  const auto times = settings.piece == Piece::kMemoryCopy
                         ? take_copies(settings, block)
                         : take_steps(team, checkpoint, settings, block);
  if (!times) return failure(times.error());
  return Measured{.blocked_s = slowest_median(team, *times, &StepTimes::call_s),
                  .total_s = slowest_median(team, *times, &StepTimes::all_s),
                  .payload_bytes = static_cast<double>(checkpoint.step_bytes())};
}

}  // namespace forebay::bench::checkpoint
