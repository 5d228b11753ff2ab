// SPDX-License-Identifier: Apache-2.0
// Which processors there are, which of them are near each other, and where a thread that burns
// processor time should run so that it takes none from those that compute. hwloc is known to
// processors.cpp alone.
#pragma once

#include <vector>

namespace forebay {

/// A hardware thread, by the system's number. Equal numbers in the other fields mean that two of
/// them share that part.
struct Processor {
  int number = 0;
  int core = 0;
  int node = 0;  ///< of memory
};

/// Those of this machine, sorted by number; none if it cannot be found out. Takes milliseconds.
std::vector<Processor> processors_of_machine();

/// Where the calling thread may run, sorted.
std::vector<int> processors_of_this_thread();

/// Where this process was allowed to run when the library was loaded, sorted: what a launcher or
/// taskset gave it, before the program bound its threads.
const std::vector<int>& processors_at_start();

/// For a thread that works beside one that is bound to `bound`: those of `allowed` that are none of
/// its cores, and near it if there are such; then those that are not itself. Empty if there is no
/// better place than where it would run anyway. All are sorted. Pure.
std::vector<int> processors_apart(const std::vector<Processor>& machine,
                                  const std::vector<int>& allowed,
                                  const std::vector<int>& bound);

/// Lets all service threads that start from now on (start_service_thread) run on these alone;
/// empty: where the thread may run that starts them, as at first. For the whole process. False, and
/// nothing changes, if this process may use none of them.
bool set_service_processors(const std::vector<int>& processors);
std::vector<int> service_processors();

/// Lets the calling thread run on these alone. Empty, or refused by the system: as it was.
void run_this_thread_on(const std::vector<int>& processors) noexcept;

}  // namespace forebay
