// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/faults.hpp"

#include <algorithm>
#include <cerrno>

namespace forebay::emufs {

int Faults::add(ByteFault fault) {
  const std::lock_guard lock(mutex_);
  if (byte_faults_.size() >= kByteFaultsMax) return EMFILE;
  byte_faults_.push_back(std::move(fault));
  return 0;
}

void Faults::set_space(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  space_ = bytes;
}

void Faults::set_quota(uid_t user, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  quotas_[user] = bytes;
}

void Faults::clear() {
  const std::lock_guard lock(mutex_);
  byte_faults_.clear();
  space_.reset();
  quotas_.clear();
}

bool Faults::is_faulty(model::FileId file, ByteRange range, FaultOperation operation) const {
  return std::ranges::any_of(byte_faults_, [&](const ByteFault& fault) {
    const bool is_affected =
        fault.operation == FaultOperation::kBoth || fault.operation == operation;
    return fault.file == file && is_affected && !intersect(fault.range, range).empty();
  });
}

int Faults::read_error(model::FileId file, ByteRange range) const {
  const std::lock_guard lock(mutex_);
  return is_faulty(file, range, FaultOperation::kRead) ? EIO : 0;
}

int Faults::sync_error(model::FileId file) const {
  const std::lock_guard lock(mutex_);
  const bool is_bad = std::ranges::any_of(byte_faults_, [file](const ByteFault& fault) {
    return fault.file == file && fault.operation == FaultOperation::kSync;
  });
  return is_bad ? EIO : 0;
}

WriteCheck Faults::check_write(model::FileId file, ByteRange range, uid_t user) {
  const std::lock_guard lock(mutex_);
  if (is_faulty(file, range, FaultOperation::kWrite)) return {0, EIO};
  WriteCheck check{range.size, 0};
  if (const auto quota = quotas_.find(user); quota != quotas_.end()) {
    const std::uint64_t limit = quota->second;
    check.bytes = limit > range.offset ? std::min(limit - range.offset, range.size) : 0;
    if (check.bytes == 0) return {0, EDQUOT};
  }
  if (space_) {
    check.bytes = std::min(check.bytes, *space_);
    if (check.bytes == 0) return {0, ENOSPC};
    *space_ -= check.bytes;
  }
  return check;
}

std::vector<ByteFault> Faults::byte_faults() const {
  const std::lock_guard lock(mutex_);
  return byte_faults_;
}

std::optional<std::uint64_t> Faults::space() const {
  const std::lock_guard lock(mutex_);
  return space_;
}

std::map<uid_t, std::uint64_t> Faults::quotas() const {
  const std::lock_guard lock(mutex_);
  return quotas_;
}

}  // namespace forebay::emufs
