// SPDX-License-Identifier: Apache-2.0
// LeaseHolder: the program that may write a dataset, as the text of the file `owner` names it.
// write/lease_holder.hpp decides whether the holder is alive.
#pragma once

#include "format/records.hpp"

namespace forebay::format {

struct LeaseHolder {
  std::string host = {};
  std::string boot_id = {};
  std::uint64_t process_id = 0;
  std::uint64_t process_start = 0;  ///< clock ticks since boot: detects a reused process number
  /// PID namespace of process_id, for containers; 0: unknown.
  std::uint64_t process_namespace = 0;
  std::string user = {};
  std::string program = {};
  std::uint64_t opened_ns = 0;  ///< since 1970
  std::uint64_t nonce = 0;
  /// Of the file that has this text, as the holder saw them; different in a copy. 0: unknown.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool is_locked = false;  ///< the holder keeps a lock on the file while it lives

  friend bool operator==(const LeaseHolder&, const LeaseHolder&) = default;
};

/// One line with its newline, at most kLeaseHolderBytesMax: longer texts in it are truncated.
std::string encode_lease_holder(const LeaseHolder& holder);
/// kDamage if it is no such text or its checksum does not fit.
Result<LeaseHolder> decode_lease_holder(std::string_view text, const std::string& path);

inline constexpr std::size_t kLeaseHolderBytesMax = 4096;

}  // namespace forebay::format
