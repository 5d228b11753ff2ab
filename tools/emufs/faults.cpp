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

bool Faults::fails(model::FileId file, ByteRange range, FaultOn on) const {
  return std::ranges::any_of(byte_faults_, [&](const ByteFault& fault) {
    const bool concerns = fault.on == FaultOn::kBoth || fault.on == on;
    return fault.file == file && concerns && !intersect(fault.range, range).empty();
  });
}

int Faults::on_read(model::FileId file, ByteRange range) const {
  const std::lock_guard lock(mutex_);
  return fails(file, range, FaultOn::kRead) ? EIO : 0;
}

int Faults::on_sync(model::FileId file) const {
  const std::lock_guard lock(mutex_);
  const bool is_bad = std::ranges::any_of(byte_faults_, [file](const ByteFault& fault) {
    return fault.file == file && fault.on == FaultOn::kSync;
  });
  return is_bad ? EIO : 0;
}

WriteVerdict Faults::on_write(model::FileId file, ByteRange range, uid_t user) {
  const std::lock_guard lock(mutex_);
  if (fails(file, range, FaultOn::kWrite)) return {0, EIO};
  WriteVerdict verdict{range.size, 0};
  if (const auto quota = quotas_.find(user); quota != quotas_.end()) {
    const std::uint64_t limit = quota->second;
    verdict.bytes = limit > range.offset ? std::min(limit - range.offset, range.size) : 0;
    if (verdict.bytes == 0) return {0, EDQUOT};
  }
  if (space_) {
    verdict.bytes = std::min(verdict.bytes, *space_);
    if (verdict.bytes == 0) return {0, ENOSPC};
    *space_ -= verdict.bytes;
  }
  return verdict;
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
