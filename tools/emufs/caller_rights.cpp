// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/caller_rights.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include <grp.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.hpp"

namespace forebay::emufs {

namespace {

constexpr int kGroupsMax = 256;
constexpr auto kNoId = static_cast<uid_t>(-1);

std::vector<gid_t> groups_of(fuse_req_t request) {
  std::vector<gid_t> groups(kGroupsMax);
  const int count = fuse_req_getgroups(request, kGroupsMax, groups.data());
  groups.resize(static_cast<std::size_t>(std::clamp(count, 0, kGroupsMax)));
  return groups;
}

std::vector<gid_t> own_groups() {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  return groups;
}

/// The C library's setgroups() would change all threads.
void set_groups(std::span<const gid_t> groups) {
  FOREBAY_ASSERT(::syscall(SYS_setgroups, groups.size(), groups.data()) == 0);
}

void set_user_and_group(uid_t user, gid_t group) {
  ::setfsgid(group);
  ::setfsuid(user);
  // Neither reports a failure; with an invalid number they return the present value.
  FOREBAY_ASSERT(static_cast<gid_t>(::setfsgid(kNoId)) == group);
  FOREBAY_ASSERT(static_cast<uid_t>(::setfsuid(kNoId)) == user);
}

const std::vector<gid_t>& groups_at_start() {
  static const std::vector<gid_t> groups = own_groups();
  return groups;
}

}  // namespace

CallerRights::CallerRights(const Call& call) {
  const fuse_ctx& caller = *fuse_req_ctx(call.request());
  if (caller.uid == 0 && caller.gid == 0) return;
  const auto groups = groups_of(call.request());
  groups_at_start();
  set_groups(groups);
  set_user_and_group(caller.uid, caller.gid);
  has_changed_ = true;
}

CallerRights::~CallerRights() {
  if (!has_changed_) return;
  set_user_and_group(::geteuid(), ::getegid());
  set_groups(groups_at_start());
}

}  // namespace forebay::emufs
