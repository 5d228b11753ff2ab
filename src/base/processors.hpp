// SPDX-License-Identifier: Apache-2.0
// Processors: which exist, which share a core or a memory node, and where a busy service thread
// should run without taking time from threads that compute. Only processors.cpp uses hwloc.
#pragma once

#include <vector>

namespace forebay {

/// A hardware thread, by the system's number. Two of them with equal values in another field share
/// that part.
struct Processor {
  int number = 0;
  int core = 0;
  int node = 0;  ///< memory node
};

/// The processors of this machine, sorted by number. Empty if they cannot be determined. Takes
/// milliseconds.
std::vector<Processor> machine_processors();

/// The processors on which the calling thread may run, sorted.
std::vector<int> thread_affinity();

/// The processors on which this process could run when the library was loaded, sorted: set by a
/// launcher or taskset, before the program bound its threads.
const std::vector<int>& initial_affinity();

/// For a thread that works beside one bound to `bound`: returns processors of `allowed` on other
/// cores than `bound`, on the same memory node if possible; if there are none, other hardware
/// threads of those cores. Empty if no place is better than the inherited one. All lists are
/// sorted. Pure.
std::vector<int> spare_processors(const std::vector<Processor>& machine,
                                  const std::vector<int>& allowed,
                                  const std::vector<int>& bound);

/// Restricts all service threads that start later (start_service_thread()) to these processors.
/// Empty: they inherit the affinity of the thread that starts them, which is the default. Applies
/// to the whole process. Returns false, and changes nothing, if this process may use none of them.
bool set_service_processors(const std::vector<int>& processors);
std::vector<int> service_processors();

/// Restricts the calling thread to these processors. No effect if the list is empty or the system
/// refuses.
void set_thread_affinity(const std::vector<int>& processors) noexcept;

}  // namespace forebay
