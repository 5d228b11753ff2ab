// SPDX-License-Identifier: Apache-2.0
#include "comm/hmac.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/checked_cast.hpp"

namespace forebay::comm {

Result<Mac> hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message) {
  Mac mac{};
  unsigned int mac_bytes = 0;
  const auto* const made =
      ::HMAC(::EVP_sha256(), key.data(), checked_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(message.data()), message.size(),
             reinterpret_cast<unsigned char*>(mac.data()), &mac_bytes);
  if (made != nullptr && mac_bytes == mac.size()) return mac;
  return failure({.kind = ErrorClass::kUnsupported,
                  .operation = "compute HMAC-SHA-256",
                  .cause = "libcrypto rejects the algorithm"});
}

bool constant_time_equal(const Mac& a, const Mac& b) noexcept {
  return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace forebay::comm
