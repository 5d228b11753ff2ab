// SPDX-License-Identifier: Apache-2.0
// Failures that a user asked for: which request gets which errno. What servers do (stall, drop,
// slow) is the storage model's; this is what a storage says.
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
enum class FaultOn : std::uint8_t { kRead, kWrite, kBoth, kSync };

/// EIO from requests that touch these bytes; from syncs of the file or folder, whichever bytes.
struct ByteFault {
  model::FileId file = 0;
  std::string path;  ///< as the user named it
  ByteRange range;
  FaultOn on = FaultOn::kBoth;
  /// Keeps the file's number from being given to another one, once it is removed.
  std::shared_ptr<const Descriptor> held = nullptr;
};

/// Each fault holds a descriptor of the process.
inline constexpr std::size_t kByteFaultsMax = 256;

/// How much of a write is let through; with none of it, why.
struct WriteVerdict {
  std::uint64_t bytes = 0;
  int error_number = 0;
};

/// Any thread.
class Faults {
 public:
  /// The errno, or 0: EMFILE if there are kByteFaultsMax already.
  int add(ByteFault fault);
  /// ENOSPC after so many more bytes.
  void set_space(std::uint64_t bytes);
  /// EDQUOT from writes of this user beyond this length of a file.
  void set_quota(uid_t user, std::uint64_t bytes);
  void clear();

  /// The errno for a read of these bytes, 0 for none.
  int on_read(model::FileId file, ByteRange range) const;
  /// The errno for a sync of a file or folder, 0 for none.
  int on_sync(model::FileId file) const;
  /// `range` is not empty. What is let through counts against the space.
  WriteVerdict on_write(model::FileId file, ByteRange range, uid_t user);

  std::vector<ByteFault> byte_faults() const;
  std::optional<std::uint64_t> space() const;
  std::map<uid_t, std::uint64_t> quotas() const;

 private:
  bool fails(model::FileId file, ByteRange range, FaultOn on) const;

  mutable std::mutex mutex_;
  std::vector<ByteFault> byte_faults_;
  std::optional<std::uint64_t> space_;
  std::map<uid_t, std::uint64_t> quotas_;
};

}  // namespace forebay::emufs
