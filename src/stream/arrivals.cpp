// SPDX-License-Identifier: Apache-2.0
// What comes into a queue: parcels find their account's list, barriers count what is before them,
// and whatever comes after the queue's end goes back at once.
#include <algorithm>

#include "base/assert.hpp"
#include "stream/device_queue.hpp"

namespace forebay::stream {

void DeviceQueue::take_inbox() {
  Parcel* parcel = inbox_.take_all();
  while (parcel != nullptr) {
    Parcel* const next = parcel->next;
    parcel->arrival = ++arrivals_;
    welcome(*parcel->account);
    if (parcel->kind == ParcelKind::kBarrier) {
      arrive(static_cast<Barrier&>(*parcel));
    } else {
      arrive(*parcel);
    }
    parcel = next;
  }
}

void DeviceQueue::welcome(Account& account) {
  if (account.is_known) return;
  account.is_known = true;
  if (!account.arena.empty())
    account.counts.registered = engine_->add_buffers(account.arena).has_value();
}

void DeviceQueue::arrive(Parcel& parcel) {
  Account& account = *parcel.account;
  use(account, *parcel.target);
  parcel.requests_left = 0;
  parcel.is_prepared = false;
  parcel.is_written = true;
  parcel.rest = parcel.range;
  account.waiting.push(parcel);
  ++account.parcels;
  ++parcel.target->parcels;
  add_turn(account);
}

void DeviceQueue::arrive(Barrier& barrier) {
  barrier.step = Barrier::Step::kParcels;
  barrier.is_written = true;
  barrier.left = barrier.target != nullptr ? barrier.target->parcels : barrier.account->parcels;
  barriers_.push_back(&barrier);
}

/// Notes that the account writes to the target, which stays alive for it.
void DeviceQueue::use(Account& account, Target& target) {
  const auto is_same = [&](const auto& used) { return used.get() == &target; };
  if (std::ranges::none_of(account.targets, is_same))
    account.targets.push_back(target.shared_from_this());
  if (std::ranges::find(target.users, &account) == target.users.end())
    target.users.push_back(&account);
}

/// After the end: nobody works any more.
void DeviceQueue::drop_inbox() noexcept {
  Parcel* parcel = inbox_.take_all();
  while (parcel != nullptr) {
    Parcel* const next = parcel->next;
    Client& client = *parcel->account->client;
    parcel->is_written = false;
    if (parcel->kind == ParcelKind::kBarrier) {
      client.reached(static_cast<Barrier&>(*parcel));
    } else {
      client.give_back(*parcel);
    }
    parcel = next;
  }
}

}  // namespace forebay::stream
