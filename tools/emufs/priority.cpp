// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/priority.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace forebay::emufs {

void raise_thread_priority() noexcept {
  constexpr int kNiceValue = -15;
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  sched_param parameters{};
  parameters.sched_priority = 1;
  if (::sched_setscheduler(0, SCHED_FIFO, &parameters) == 0) return;
  // May be refused without privileges: the thread then has ordinary priority and is late at times.
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNiceValue);
}

}  // namespace forebay::emufs
