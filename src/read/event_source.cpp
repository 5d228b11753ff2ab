// SPDX-License-Identifier: Apache-2.0
#include "read/event_source.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <sys/epoll.h>

namespace forebay::read {

Result<std::shared_ptr<EventSourceSet>> EventSourceSet::create(
    std::vector<std::shared_ptr<EventSource>> event_sources) {
  auto list = std::make_shared<EventSourceSet>();
  list->events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  bool watched = static_cast<bool>(list->events_);
  for (std::size_t i = 0; i < event_sources.size() && watched; ++i) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    watched = ::epoll_ctl(list->events_.get(), EPOLL_CTL_ADD, event_sources[i]->descriptor(),
                          &event) == 0;
  }
  if (!watched) {
    return failure(system_error({.operation = "create an epoll descriptor for the agent"}, errno));
  }
  list->event_sources_ = std::move(event_sources);
  return list;
}

Deadline EventSourceSet::next_deadline() const {
  Deadline first;
  for (const auto& one : event_sources_) {
    const Deadline due = one->next_deadline();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

void EventSourceSet::poll() {
  std::array<epoll_event, 8> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i)
    event_sources_[events.at(static_cast<std::size_t>(i)).data.u64]->poll();
  for (const auto& one : event_sources_) {
    if (one->next_deadline()) one->poll();
  }
}

void EventSourceSet::shutdown() {
  for (const auto& one : event_sources_)
    one->shutdown();
}

}  // namespace forebay::read
