// SPDX-License-Identifier: Apache-2.0
// Failures that a user has set: which request fails with which errno. Server conditions (stall,
// drop, slow) belong to the storage model.
#pragma once

#include <forebay/range.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/descriptor.hpp"
#include "model/storage_model.hpp"

namespace forebay::emufs {

/// kBoth: reading and writing.
enum class FaultOperation : std::uint8_t { kRead, kWrite, kBoth, kSync };

/// EIO from requests that touch these bytes. With kSync, EIO from syncs of the file or directory,
/// whatever the bytes.
struct ByteFault {
  model::FileId file = 0;
  std::string path;  ///< as the user named it
  ByteRange range;
  FaultOperation operation = FaultOperation::kBoth;
  /// Keeps the file's inode number from being reused after the file is removed.
  std::shared_ptr<const Descriptor> held = nullptr;
};

/// Each fault holds a descriptor of the process.
inline constexpr std::size_t kByteFaultsMax = 256;

/// How many bytes of a write are allowed, and the errno if none are.
struct WriteCheck {
  std::uint64_t bytes = 0;
  int error_number = 0;
};

/// Thread-safe.
class Faults {
 public:
  /// Returns the errno, or 0. EMFILE if kByteFaultsMax faults exist already.
  int add(ByteFault fault);
  /// ENOSPC after `bytes` more bytes.
  void set_space(std::uint64_t bytes);
  /// EDQUOT from writes of this user beyond this length of a file.
  void set_quota(uid_t user, std::uint64_t bytes);
  void clear();

  /// The errno for a read of these bytes, 0 for none.
  int read_error(model::FileId file, ByteRange range) const;
  /// The errno for a sync of a file or directory, 0 for none.
  int sync_error(model::FileId file) const;
  /// `range` is not empty. Allowed bytes count against the space.
  WriteCheck check_write(model::FileId file, ByteRange range, uid_t user);

  std::vector<ByteFault> byte_faults() const;
  std::optional<std::uint64_t> space() const;
  std::map<uid_t, std::uint64_t> quotas() const;

 private:
  bool is_faulty(model::FileId file, ByteRange range, FaultOperation operation) const;

  mutable std::mutex mutex_;
  std::vector<ByteFault> byte_faults_;
  std::optional<std::uint64_t> space_;
  std::map<uid_t, std::uint64_t> quotas_;
};

}  // namespace forebay::emufs
