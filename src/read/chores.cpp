// SPDX-License-Identifier: Apache-2.0
#include "read/chores.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <sys/epoll.h>

namespace forebay::read {

Result<std::shared_ptr<ChoreList>> ChoreList::of(std::vector<std::shared_ptr<Chores>> chores) {
  auto list = std::make_shared<ChoreList>();
  list->events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  bool watched = static_cast<bool>(list->events_);
  for (std::size_t i = 0; i < chores.size() && watched; ++i) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    watched = ::epoll_ctl(list->events_.get(), EPOLL_CTL_ADD, chores[i]->descriptor(), &event) == 0;
  }
  if (!watched) {
    return failure(system_error({.operation = "wait for several things in one place"}, errno));
  }
  list->chores_ = std::move(chores);
  return list;
}

Deadline ChoreList::due() const {
  Deadline first;
  for (const auto& one : chores_) {
    const Deadline due = one->due();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

void ChoreList::attend() {
  std::array<epoll_event, 8> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i)
    chores_[events.at(static_cast<std::size_t>(i)).data.u64]->attend();
  for (const auto& one : chores_) {
    if (one->due()) one->attend();
  }
}

void ChoreList::end() {
  for (const auto& one : chores_)
    one->end();
}

}  // namespace forebay::read
