// SPDX-License-Identifier: Apache-2.0
// Addresses are sent without the unused part of sockaddr_storage, because each rank receives those
// of all ranks.
#include "comm/endpoint_table.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <netinet/in.h>

#include "base/assert.hpp"
#include "comm/message_bytes.hpp"

namespace forebay::comm {

namespace {

constexpr std::size_t kAddressesMax = 16;  ///< of one rank; further ones are left out

/// Empty on a host without loopback.
std::vector<SocketAddress> loopback_addresses() {
  auto all = local_addresses("");
  if (!all) return {};
  std::erase_if(*all, [](const SocketAddress& address) { return !is_loopback(address); });
  return std::move(*all);
}

Bytes pack_addresses(const std::vector<TcpListener>& listeners) {
  MessageWriter out;
  for (const TcpListener& listener : listeners) {
    const SocketAddress& address = listener.address;
    out.bytes(std::as_bytes(std::span(&address.bytes, 1)).first(address.length));
  }
  return std::move(out).take();
}

/// The length of a socket address of this family; 0: unsupported family.
std::size_t length_of(sa_family_t family) {
  if (family == AF_INET) return sizeof(sockaddr_in);
  return family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
}

Result<std::vector<SocketAddress>> unpack_addresses(std::span<const std::byte> bytes) {
  MessageReader in("addresses", bytes);
  std::vector<SocketAddress> addresses;
  while (in.is_valid() && !in.is_empty()) {
    const auto raw = in.bytes("address");
    SocketAddress address;
    const bool fits = raw.size() >= sizeof(sa_family_t) && raw.size() <= sizeof address.bytes;
    if (fits) std::memcpy(&address.bytes, raw.data(), raw.size());
    address.length = static_cast<std::uint32_t>(raw.size());
    if (!fits || raw.size() != length_of(address.bytes.ss_family))
      in.reject("address", raw.size(), "must be the bytes of an IPv4 or IPv6 address");
    addresses.push_back(address);
  }
  if (Status parsed = in.finish(); !parsed) return failure(parsed.error());
  return addresses;
}

}  // namespace

std::vector<SocketAddress> EndpointTable::addresses_of(Rank rank) const {
  auto addresses = unpack_addresses(packed_addresses.at(rank.number));
  FOREBAY_ASSERT(addresses);  // exchange_endpoints() has checked all
  return std::move(*addresses);
}

Result<std::vector<TcpListener>> listen_on(const std::string& network,
                                           const SocketOptions& options,
                                           const Nodes& nodes) {
  Result<std::vector<SocketAddress>> addresses = local_addresses(network);
  if (!addresses) return failure(addresses.error());
  if (nodes.count() == 1) {
    if (const auto loopback = loopback_addresses(); !loopback.empty()) *addresses = loopback;
  }
  addresses->resize(std::min(addresses->size(), kAddressesMax));
  std::vector<TcpListener> listeners;
  Status last;
  for (const SocketAddress& address : *addresses) {
    Result<TcpListener> listener = listen_at(address, options);
    if (listener) {
      listeners.push_back(std::move(*listener));
    } else {
      last = failure(listener.error());
    }
  }
  if (listeners.empty()) return failure(last.error());
  return listeners;
}

Result<EndpointTable> exchange_endpoints(Communicator& ranks,
                                         const std::vector<TcpListener>& mine,
                                         const SharedKey& key) {
  EndpointTable all{.key = key, .packed_addresses = {}};
  const Status broadcast_status =
      ranks.broadcast(std::as_writable_bytes(std::span(all.key)), Rank{0});
  Result<std::vector<Bytes>> addresses = ranks.all_gather(pack_addresses(mine));
  if (!broadcast_status) return failure(broadcast_status.error());
  if (!addresses) return failure(addresses.error());
  for (std::uint32_t rank = 0; rank < addresses->size(); ++rank)
    if (const auto of_rank = unpack_addresses((*addresses)[rank]); !of_rank)
      return failure(with_rank(of_rank.error(), rank));
  all.packed_addresses = std::move(*addresses);
  return all;
}

}  // namespace forebay::comm
