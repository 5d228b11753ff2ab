// SPDX-License-Identifier: Apache-2.0
// Addresses travel without the unused part of sockaddr_storage: each rank gets those of all.
#include "comm/whereabouts.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/assert.hpp"

namespace forebay::comm {

namespace {

constexpr std::size_t kAddressesMax = 16;  ///< of one host; what is listed later is left out

void append(Bytes& bytes, const void* from, std::size_t size) {
  const auto* const first = static_cast<const std::byte*>(from);
  bytes.insert(bytes.end(), first, first + size);
}

/// Empty on a host where loopback is down.
std::vector<Address> loopback_addresses() {
  auto all = local_addresses("");
  if (!all) return {};
  std::erase_if(*all, [](const Address& address) { return !is_loopback(address); });
  return std::move(*all);
}

Bytes packed(const std::vector<Listener>& listeners) {
  Bytes bytes;
  for (const Listener& listener : listeners) {
    const Address& address = listener.address;
    append(bytes, &address.length, sizeof address.length);
    append(bytes, &address.bytes, address.length);
  }
  return bytes;
}

}  // namespace

std::vector<Address> Whereabouts::addresses_of(Rank rank) const {
  std::span<const std::byte> rest = packed_addresses.at(rank.number);
  std::vector<Address> addresses;
  while (!rest.empty()) {
    Address address;
    FOREBAY_ASSERT(rest.size() > sizeof address.length);
    std::memcpy(&address.length, rest.data(), sizeof address.length);
    rest = rest.subspan(sizeof address.length);
    FOREBAY_ASSERT(address.length <= std::min(rest.size(), sizeof address.bytes));
    std::memcpy(&address.bytes, rest.data(), address.length);
    rest = rest.subspan(address.length);
    addresses.push_back(address);
  }
  return addresses;
}

Result<std::vector<Listener>> listen_on(const std::string& network,
                                        const SocketOptions& options,
                                        const Nodes& nodes) {
  Result<std::vector<Address>> addresses = local_addresses(network);
  if (!addresses) return failure(addresses.error());
  if (nodes.count() == 1) {
    if (const auto here = loopback_addresses(); !here.empty()) *addresses = here;
  }
  addresses->resize(std::min(addresses->size(), kAddressesMax));
  std::vector<Listener> listeners;
  Status last;
  for (const Address& address : *addresses) {
    Result<Listener> listener = listen_at(address, options);
    if (listener) {
      listeners.push_back(std::move(*listener));
    } else {
      last = failure(listener.error());
    }
  }
  if (listeners.empty()) return failure(last.error());
  return listeners;
}

Result<Whereabouts> exchange_whereabouts(Communicator& ranks,
                                         const std::vector<Listener>& mine,
                                         const JobKey& key) {
  Whereabouts all{.key = key, .packed_addresses = {}};
  const Status told = ranks.broadcast(std::as_writable_bytes(std::span(all.key)), Rank{0});
  Result<std::vector<Bytes>> addresses = ranks.all_gather(packed(mine));
  if (!told) return failure(told.error());
  if (!addresses) return failure(addresses.error());
  all.packed_addresses = std::move(*addresses);
  return all;
}

}  // namespace forebay::comm
