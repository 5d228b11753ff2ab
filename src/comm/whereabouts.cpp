// SPDX-License-Identifier: Apache-2.0
// Addresses travel without the unused part of sockaddr_storage: each rank gets those of all.
#include "comm/whereabouts.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <netinet/in.h>

#include "base/assert.hpp"
#include "comm/message_bytes.hpp"

namespace forebay::comm {

namespace {

constexpr std::size_t kAddressesMax = 16;  ///< of one host; what is listed later is left out

/// Empty on a host where loopback is down.
std::vector<Address> loopback_addresses() {
  auto all = local_addresses("");
  if (!all) return {};
  std::erase_if(*all, [](const Address& address) { return !is_loopback(address); });
  return std::move(*all);
}

Bytes packed(const std::vector<Listener>& listeners) {
  MessageWriter out;
  for (const Listener& listener : listeners) {
    const Address& address = listener.address;
    out.bytes(std::as_bytes(std::span(&address.bytes, 1)).first(address.length));
  }
  return std::move(out).take();
}

/// The length of a socket address of its family; 0: of no use here.
std::size_t length_of(sa_family_t family) {
  if (family == AF_INET) return sizeof(sockaddr_in);
  return family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
}

Result<std::vector<Address>> unpacked(std::span<const std::byte> bytes) {
  MessageReader in("addresses", bytes);
  std::vector<Address> addresses;
  while (in.is_well() && !in.is_empty()) {
    const auto raw = in.bytes("address");
    Address address;
    const bool fits = raw.size() >= sizeof(sa_family_t) && raw.size() <= sizeof address.bytes;
    if (fits) std::memcpy(&address.bytes, raw.data(), raw.size());
    address.length = static_cast<std::uint32_t>(raw.size());
    if (!fits || raw.size() != length_of(address.bytes.ss_family))
      in.reject("address", raw.size(), "must be the bytes of an IPv4 or IPv6 address");
    addresses.push_back(address);
  }
  if (Status whole = in.end(); !whole) return failure(whole.error());
  return addresses;
}

}  // namespace

std::vector<Address> Whereabouts::addresses_of(Rank rank) const {
  auto addresses = unpacked(packed_addresses.at(rank.number));
  FOREBAY_ASSERT(addresses);  // exchange_whereabouts() has checked all
  return std::move(*addresses);
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
  for (std::uint32_t rank = 0; rank < addresses->size(); ++rank)
    if (const auto of_rank = unpacked((*addresses)[rank]); !of_rank)
      return failure(on_rank(of_rank.error(), rank));
  all.packed_addresses = std::move(*addresses);
  return all;
}

}  // namespace forebay::comm
