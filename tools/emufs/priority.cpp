// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/priority.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace forebay::emufs {

void prefer_this_thread() noexcept {
  constexpr int kNiceForHardware = -15;
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  sched_param parameters{};
  parameters.sched_priority = 1;
  if (::sched_setscheduler(0, SCHED_FIFO, &parameters) == 0) return;
  // Refused without the right to: then as an ordinary thread that is late at times.
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNiceForHardware);
}

}  // namespace forebay::emufs
