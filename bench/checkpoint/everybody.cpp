// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/everybody.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/assert.hpp"
#include "bench/checkpoint/content.hpp"
#include "bench/checkpoint/runtimes.hpp"
#include "bench/checkpoint/stored.hpp"

namespace forebay::bench::checkpoint {

namespace {

Everybody* known = nullptr;

Team team_of(MPI_Comm communicator) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  return {communicator, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size)};
}

/// Rank 0's order on all ranks, which sleep until it comes.
void pass_on(Order& order, const Team& all) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 2'000'000};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&order, sizeof order, MPI_BYTE, 0, all.communicator, &request);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    ::nanosleep(&kPause, nullptr);
  }
}

/// An application that checkpoints nothing.
class NothingWritten final : public Writer {
 public:
  Status write_step(std::uint32_t /*step*/, std::span<const std::byte> /*block*/) override {
    return {};
  }
  Status close() override { return {}; }
};

class Nobody final : public Contender {
 public:
  std::string name() const override { return "nobody"; }
  Result<std::unique_ptr<Writer>> open(const Team& /*team*/,
                                       const Checkpoint& /*checkpoint*/) const override {
    return std::make_unique<NothingWritten>();
  }
};

const Contender& contender_of(const Order& order) {
  static const Nobody nobody;
  if (order.contender == kNobody) return nobody;
  FOREBAY_ASSERT(order.contender < all_contenders().size());
  return *all_contenders()[order.contender];
}

Status make_ready(const Order& order, const std::filesystem::path& folder) {
  return order.task == Task::kRestart ? drop_all(folder) : make_empty(folder);
}

}  // namespace

void Order::set_folder(const std::filesystem::path& path) {
  const std::string text = path.string();
  FOREBAY_ASSERT(text.size() < sizeof folder);
  std::memcpy(folder, text.c_str(), text.size() + 1);
}

Everybody::Everybody(const CountCalls& count_calls)
    : all_(team_of(MPI_COMM_WORLD)), count_calls_(count_calls) {}

Everybody::~Everybody() {
  checkpoint::end_runtimes();
  for (auto& [size, communicator] : teams_)
    MPI_Comm_free(&communicator);
}

Team Everybody::team(std::uint32_t ranks) {
  const auto found = teams_.find(ranks);
  if (found != teams_.end()) return team_of(found->second);
  MPI_Group everyone = MPI_GROUP_NULL;
  MPI_Group first = MPI_GROUP_NULL;
  int range[1][3] = {{0, static_cast<int>(ranks) - 1, 1}};
  MPI_Comm_group(all_.communicator, &everyone);
  MPI_Group_range_incl(everyone, 1, range, &first);
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_create_group(all_.communicator, first, static_cast<int>(ranks), &communicator);
  MPI_Group_free(&first);
  MPI_Group_free(&everyone);
  teams_.emplace(ranks, communicator);
  return team_of(communicator);
}

Result<Measured> Everybody::order(Order what) {
  FOREBAY_ASSERT(std::max(what.writers, what.readers) <= size());
  pass_on(what, all_);
  return perform(what);
}

void Everybody::end_runtimes() { (void)order({.task = Task::kEndRuntimes, .writers = size()}); }

void Everybody::serve() {
  for (;;) {
    Order order;
    pass_on(order, all_);
    if (order.task == Task::kLeave) return;
    // What failed is told by rank 0, which knows of all.
    if (rank() < std::max(order.writers, order.readers)) (void)perform(order);
  }
}

Result<Measured> Everybody::perform(const Order& order) {
  if (order.task == Task::kLeave) return Measured();
  if (order.task == Task::kEndRuntimes) {
    checkpoint::end_runtimes();
    return Measured();
  }
  const Checkpoint checkpoint{
      .folder = order.folder,
      .block_bytes = block_sizes(order.sizes, order.writers, order.step_bytes),
      .steps = order.steps};
  const Team team = this->team(std::max(order.writers, order.readers));
  const Status made = rank() == 0 ? make_ready(order, checkpoint.folder) : Status();
  if (auto all = agree(team, made); !all) return failure(all.error());
  if (order.task == Task::kPiece) return piece(order, checkpoint);
  if (order.task == Task::kJob) return job(order, checkpoint);
  return order.task == Task::kWrite ? write(order, checkpoint) : restart(order, checkpoint);
}

Result<Measured> Everybody::job(const Order& order, const Checkpoint& checkpoint) {
  const Team ranks = team(order.writers);
  const auto block = memory(ranks, job_memory_bytes(checkpoint, ranks.size));
  if (!block) return failure(block.error());
  return measure_job(ranks, checkpoint, order.job, *block);
}

Result<Measured> Everybody::piece(const Order& order, const Checkpoint& checkpoint) {
  const Team writers = team(order.writers);
  const auto block = memory(writers, checkpoint.block_bytes[writers.rank]);
  if (!block) return failure(block.error());
  fill(*block, {0, checkpoint.offset_of(writers.rank)});
  return measure_piece(writers, checkpoint, order.piece, *block);
}

Result<Measured> Everybody::write(const Order& order, const Checkpoint& checkpoint) {
  if (rank() >= order.writers) return Measured();
  const Team writers = team(order.writers);
  const std::uint64_t block_bytes = checkpoint.block_bytes[writers.rank];
  const auto own = memory(writers, std::max(block_bytes, room_bytes(checkpoint, writers.size)));
  if (!own) return failure(own.error());
  const Contender& contender = contender_of(order);
  auto measured = measure_writing(contender, writers, checkpoint, order.application,
                                  {own->first(block_bytes), count_calls_});
  if (!measured || order.contender == kNobody) return measured;
  if (auto right = check_written(contender, writers, checkpoint, order.check, *own); !right)
    return failure(right.error());
  return measured;
}

Result<Measured> Everybody::restart(const Order& order, const Checkpoint& checkpoint) {
  if (rank() >= order.readers) return Measured();
  const Team readers = team(order.readers);
  const auto room = memory(readers, room_bytes(checkpoint, order.readers));
  if (!room) return failure(room.error());
  const auto seconds = measure_restart(contender_of(order), readers, checkpoint, order.step, *room);
  if (!seconds) return failure(seconds.error());
  return Measured{.blocked_s = *seconds,
                  .payload_bytes = static_cast<double>(checkpoint.step_bytes())};
}

Result<std::span<std::byte>> Everybody::memory(const Team& team, std::uint64_t size_bytes) {
  Status mine;
  if (!memory_ || memory_->bytes().size() < size_bytes) {
    memory_.reset();
    auto made = TouchedMemory::make(size_bytes);
    if (made) memory_ = std::move(*made);
    if (!made) mine = failure(made.error());
  }
  if (auto all = agree(team, mine); !all) return failure(all.error());
  return memory_->bytes().first(size_bytes);
}

Everybody& everybody() {
  FOREBAY_ASSERT(known != nullptr);
  return *known;
}

void set_everybody(Everybody* all) { known = all; }

}  // namespace forebay::bench::checkpoint
