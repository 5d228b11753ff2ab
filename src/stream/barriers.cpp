// SPDX-License-Identifier: Apache-2.0
// Barriers: all parcels before them, then the blocks that still wait for parts, then the true
// length of files, then the sync. Each step begins when the one before it is done.
#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "stream/device_queue.hpp"

namespace forebay::stream {

void DeviceQueue::advance_barriers() {
  const auto is_reached = [this](Barrier* barrier) { return advance(*barrier); };
  std::vector<Barrier*> reached;
  std::copy_if(barriers_.begin(), barriers_.end(), std::back_inserter(reached), is_reached);
  for (Barrier* const barrier : reached) {
    std::erase(barriers_, barrier);
    leave(*barrier);
    barrier->account->client->reached(*barrier);  // may be its end
  }
}

/// True when all that the barrier asks for is done, or nothing more will be.
bool DeviceQueue::advance(Barrier& barrier) {
  if (barrier.left > 0) return false;
  if (barrier.step == Barrier::Step::kSync) return true;
  if (barrier.step == Barrier::Step::kParcels) {
    barrier.step = Barrier::Step::kBlocks;
    settle_blocks(barrier);
  }
  const auto is_settled = [](const auto& target) { return target->errands == 0; };
  if (!std::ranges::all_of(targets_of(barrier), is_settled)) return false;
  barrier.step = Barrier::Step::kSync;
  return !start_syncs(barrier);
}

void DeviceQueue::settle_blocks(Barrier& barrier) {
  if (barrier.account->client->gives_up()) return;
  for (const auto& target : targets_of(barrier))
    flush_blocks(*target);
}

/// Gives files their length and starts what makes them durable; false if nothing was started.
bool DeviceQueue::start_syncs(Barrier& barrier) {
  for (const auto& target : targets_of(barrier)) {
    cut(*target);
    Client& client = *barrier.account->client;
    if (client.gives_up() || barrier.durability == Durability::kWritten) continue;
    if (target->sync_error) client.fail(*target->sync_error);
    if (!target->is_dirty || target->sync_error) continue;
    target->is_dirty = false;
    Flight flight{.kind = FlightKind::kSync, .target = target.get()};
    flight.barrier = &barrier;
    ++barrier.left;
    run_errand(flight);
  }
  return barrier.left > 0;
}

/// To its true length, unless somebody is writing there. Also after an error: nobody wants what was
/// reserved in vain.
void DeviceQueue::cut(Target& target) {
  if (target.parcels > 0) return;
  if (const Status done = target.cut(); !done) fail_users(target, done.error());
}

/// A parcel is done: barriers that came after it have one less to wait for.
void DeviceQueue::count_off(const Parcel& parcel) noexcept {
  for (Barrier* const barrier : barriers_) {
    const bool waits =
        barrier->step == Barrier::Step::kParcels && parcel.arrival < barrier->arrival;
    const bool concerns = barrier->target != nullptr ? barrier->target == parcel.target
                                                     : barrier->account == parcel.account;
    if (waits && concerns) --barrier->left;
  }
}

std::vector<std::shared_ptr<Target>> DeviceQueue::targets_of(const Barrier& barrier) const {
  if (barrier.target != nullptr) return {barrier.target->shared_from_this()};
  auto targets = barrier.account->targets;
  targets.insert(targets.end(), barrier.files.begin(), barrier.files.end());
  return targets;
}

/// Forgets targets about which there is nothing left to do.
void DeviceQueue::leave(Barrier& barrier) {
  Account& account = *barrier.account;
  const bool gives_up = account.client->gives_up() || barrier.is_last;
  const auto is_done_with = [&](const std::shared_ptr<Target>& target) {
    // Of an account whose memory goes nobody may know, whatever others still do there.
    if (barrier.is_last) std::erase(target->users, &account);
    if (target->errands > 0 || target->parcels > 0) return false;
    if (target->edges.size() > 0 && !gives_up) return false;
    std::erase(target->users, &account);
    return true;
  };
  std::erase_if(account.targets, is_done_with);
  if (!barrier.is_last) return;
  FOREBAY_ASSERT(account.parcels == 0);
  std::erase(turns_, &account);
  std::erase(held_up_, &account);
  if (!account.arena.empty()) engine_->remove_buffers(account.arena);
}

}  // namespace forebay::stream
