// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/gil_release.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace forebay::python {

namespace {

std::atomic<bool> is_exiting = false;
pthread_t exiting_thread;
std::atomic<int> threads_in_transit = 0;  // that request the GIL

}  // namespace

GilRelease::~GilRelease() {
  threads_in_transit.fetch_add(1);
  while (is_exiting.load() && pthread_equal(pthread_self(), exiting_thread) == 0) {
    threads_in_transit.fetch_sub(1);
    ::pause();
    threads_in_transit.fetch_add(1);
  }
  PyEval_RestoreThread(state_);
  threads_in_transit.fetch_sub(1);
}

void GilRelease::initialize() {
  ::pthread_atfork(nullptr, nullptr, [] { threads_in_transit.store(0); });
}

void GilRelease::stop_other_threads() {
  exiting_thread = pthread_self();
  is_exiting.store(true);
  PyThreadState* const state = PyEval_SaveThread();
  while (threads_in_transit.load() > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

}  // namespace forebay::python
