// SPDX-License-Identifier: Apache-2.0
// What a queue does with what is finished: parcels go back to their streams, blocks become whole,
// space is there, and errors reach everybody whose bytes they concern.
#include <algorithm>

#include "base/assert.hpp"
#include "stream/device_queue.hpp"

namespace forebay::stream {

void DeviceQueue::complete(const storage::Completion& completion) {
  const auto index = static_cast<std::uint32_t>(completion.tag);
  const Flight flight = flights_[index];
  free_flights_.push_back(index);
  if (flight.kind != FlightKind::kData) {
    complete_errand(flight, completion.bytes);
    return;
  }
  Account& account = *flight.parcel->account;
  if (completion.bytes) {
    account.counts.bytes += flight.range.size;
    ++account.counts.requests;
  } else {
    flight.parcel->is_written = false;
    account.client->fail_parcel(*flight.parcel, completion.bytes.error());
  }
  complete_data(flight);
}

void DeviceQueue::complete_data(const Flight& flight) {
  Parcel& parcel = *flight.parcel;
  // A sync that began before this had ended was not for it.
  parcel.target->is_dirty = true;
  Account& account = *parcel.account;
  account.bytes_in_flight -= flight.range.size;
  --account.requests_in_flight;
  end_work(account);
  budget_->give_back(flight.range.size);
  if (!account.waiting.empty()) add_turn(account);
  if (--parcel.requests_left == 0 && parcel.rest.empty()) finish(parcel);
}

void DeviceQueue::finish(Parcel& parcel) {
  --parcel.account->parcels;
  --parcel.target->parcels;
  if (parcel.is_prepared) --parcel.target->prepared;
  cut_back(*parcel.target);
  count_off(parcel);
  parcel.account->client->give_back(parcel);
}

void DeviceQueue::complete_errand(const Flight& flight, const Result<std::uint64_t>& outcome) {
  Target& target = *flight.target;
  --target.errands;
  switch (flight.kind) {
    case FlightKind::kSpace:
      complete_space(flight, outcome);
      break;
    case FlightKind::kBlockWrite:
      if (!outcome) fail_users(target, outcome.error());
      target.is_dirty = true;
      if (flight.block->end_transfer()) target.edges.erase(*flight.block);
      break;
    case FlightKind::kSync:
      if (!outcome) {
        target.sync_error = outcome.error();
        flight.barrier->account->client->fail(outcome.error());
        fail_users(target, outcome.error());
      }
      --flight.barrier->left;
      break;
    case FlightKind::kData:
      FOREBAY_ASSERT(false);
  }
  cut_back(target);
  let_go_on();
}

void DeviceQueue::complete_space(const Flight& flight, const Result<std::uint64_t>& outcome) {
  Target& target = *flight.target;
  target.is_reserving = false;
  end_work(*flight.account);
  if (outcome) {
    target.space.reserved(flight.range);
    return;
  }
  const Error& error = outcome.error();
  if (error.kind() == ErrorClass::kUnsupported) {
    target.space.give_up();
    return;
  }
  target.space.failed();
  const bool is_full = error.kind() == ErrorClass::kNoSpace;
  target.must_cut_back = is_full && target.space.ask_for_less(flight.wanted);
  if (!target.must_cut_back) fail_users(target, error);
}

/// What a reservation got before there was no more is wanted for the rest of it, and by others.
void DeviceQueue::cut_back(Target& target) {
  if (!target.must_cut_back || target.prepared > 0 || target.errands > 0) return;
  target.must_cut_back = false;
  if (const Status done = target.cut_back(); !done) fail_users(target, done.error());
  let_go_on();
}

void DeviceQueue::fail_users(const Target& target, const Error& error) noexcept {
  for (Account* const user : target.users)
    user->client->fail(error);
}

}  // namespace forebay::stream
