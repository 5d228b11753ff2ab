// SPDX-License-Identifier: Apache-2.0
// Functions of <forebay/c/request.h>.
#include <chrono>

#include "bindings/c/call.hpp"
#include "bindings/c/handles.hpp"

using namespace forebay::bindings;

namespace {

void check_request(const forebay_request& request) {
  if (request.error) throw tl::bad_expected_access<forebay::Error>(*request.error);
}

}  // namespace

int forebay_request_test(forebay_request* request, bool* is_done, forebay_error* error) {
  return run({"test a request", error}, {{"request", request}, {"is_done", is_done}}, [&] {
    *is_done = request->poll();
    check_request(*request);
  });
}

int forebay_request_wait(forebay_request* request,
                         int64_t timeout_ns,
                         bool* is_done,
                         forebay_error* error) {
  return run({"wait for a request", error}, {{"request", request}}, [&] {
    std::optional<std::chrono::nanoseconds> limit;
    if (timeout_ns >= 0) limit.emplace(timeout_ns);
    const bool is_finished = request->wait(limit);
    if (is_done != nullptr) *is_done = is_finished;
    check_request(*request);
    if (!is_finished && is_done == nullptr)
      refuse({.kind = forebay::ErrorClass::kLimit,
              .operation = "wait for a request",
              .cause = "it has not finished after " + std::to_string(timeout_ns) +
                       " ns; wait longer, or cancel it"});
  });
}

int forebay_request_wait_all(forebay_request* const* requests, size_t count, forebay_error* error) {
  return run({"wait for requests", error}, {}, [&] {
    if (requests == nullptr && count > 0) refuse_argument("wait for requests", "requests is NULL");
    for (size_t i = 0; i < count; ++i)
      if (requests[i] != nullptr) requests[i]->wait(std::nullopt);
    for (size_t i = 0; i < count; ++i)
      if (requests[i] != nullptr) check_request(*requests[i]);
  });
}

int forebay_request_event_fd(forebay_request* request, int* descriptor, forebay_error* error) {
  return run({"make a descriptor for a request", error},
             {{"request", request}, {"descriptor", descriptor}}, [&] {
               *descriptor = -1;
               *descriptor = request->event_fd().value();
             });
}

int forebay_request_cancel(forebay_request* request, forebay_error* error) {
  return run({"cancel a request", error}, {{"request", request}}, [&] { request->cancel(); });
}

void forebay_request_free(forebay_request* request) { delete request; }
