// SPDX-License-Identifier: Apache-2.0
// Functions of <forebay/c/session.h> on sessions and views.
#include <new>
#include <vector>

#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/handles.hpp"

using namespace forebay::bindings;
using forebay::AgentScope;
using forebay::ByteRange;
using forebay::View;

namespace {

constexpr const char* kOpenSession = "open a session";

static_assert(sizeof(View) <= sizeof(forebay_view::storage));
static_assert(alignof(View) <= alignof(forebay_view));

forebay::ReadPlan read_plan_of(const forebay_read_plan* plan) {
  const auto given = read_struct(kOpenSession, plan);
  forebay::ReadPlan made;
  made.mode = choose({kOpenSession, "mode", given.mode},
                     {forebay::Mode::kDeclared, forebay::Mode::kOnDemand});
  made.access = access_of(kOpenSession, given.access);
  made.budget_bytes = given.budget_bytes;
  if (given.readahead_bytes != 0)
    made.readahead_bytes =
        given.readahead_bytes == FOREBAY_NO_READAHEAD ? 0 : given.readahead_bytes;
  made.eviction = choose({kOpenSession, "eviction", given.eviction},
                         {forebay::EvictionPolicy::kReadOnce, forebay::EvictionPolicy::kLru});
  made.tune = given.tune;
  made.tuning.splinter_bytes = given.splinter_bytes;
  made.tuning.window_bytes = given.window_bytes;
  made.tuning.request_bytes = given.request_bytes;
  made.tuning.queue_depth = given.queue_depth;
  made.tuning.agent_scope =
      choose<std::optional<AgentScope>>({kOpenSession, "agent_scope", given.agent_scope},
                                        {{}, AgentScope::kPerRank, AgentScope::kPerNode});
  return made;
}

std::vector<ByteRange> ranges_of(const char* operation, const forebay_range_list& list) {
  if (list.ranges == nullptr && list.count > 0) refuse_argument(operation, "list.ranges is NULL");
  std::vector<ByteRange> ranges(list.count);
  for (size_t i = 0; i < list.count; ++i)
    ranges[i] = {list.ranges[i].offset, list.ranges[i].size};
  return ranges;
}

void fill(forebay_view& into, View&& view) noexcept {
  const auto bytes = view.bytes();
  if (bytes.data() == nullptr) return;
  into.data = bytes.data();
  into.size = bytes.size();
  into.offset = view.range().offset;
  ::new (static_cast<void*>(into.storage)) View(std::move(view));
}

}  // namespace

int forebay_session_open(forebay_file* file,
                         forebay_range extent,
                         const forebay_read_plan* plan,
                         forebay_session** session,
                         forebay_error* error) {
  return make({kOpenSession, error}, {{"file", file}}, session, [&] {
    const forebay::Extent range{extent.offset, extent.size};
    return new forebay_session{file->runtime,
                               file->file.read_session(range, read_plan_of(plan)).value()};
  });
}

int forebay_session_read(forebay_session* session,
                         forebay_range range,
                         void* buffer,
                         forebay_request** request,
                         forebay_error* error) {
  clear(request);
  return run({"read", error}, {{"session", session}}, [&] {
    start(session->runtime,
          session->session.read(range.offset, memory_of("read", buffer, range.size)), request,
          discard);
  });
}

int forebay_session_read_ranges(forebay_session* session,
                                forebay_range_list list,
                                void* buffer,
                                forebay_request** request,
                                forebay_error* error) {
  clear(request);
  return run({"read", error}, {{"session", session}}, [&] {
    const auto ranges = ranges_of("read", list);
    uint64_t bytes = 0;
    for (const ByteRange& range : ranges)
      bytes = sum_of("read", bytes, range.size);
    start(session->runtime, session->session.read(ranges, memory_of("read", buffer, bytes)),
          request, discard);
  });
}

int forebay_session_read_subarray(forebay_session* session,
                                  const forebay_subarray* block,
                                  void* buffer,
                                  forebay_request** request,
                                  forebay_error* error) {
  clear(request);
  return run({"read", error}, {{"session", session}, {"block", block}}, [&] {
    const auto given = read_struct("read", block);
    const forebay::Subarray array{
        .shape = shape_of({"read", "shape"}, given.shape, given.dimensions),
        .start = shape_of({"read", "start"}, given.start, given.dimensions),
        .count = shape_of({"read", "count"}, given.count, given.dimensions),
        .element_bytes = given.element_bytes,
        .order = order_of("read", given.order),
        .array_offset = given.array_offset};
    const uint64_t bytes = bytes_of("read", array.count, given.element_bytes);
    start(session->runtime, session->session.read(array, memory_of("read", buffer, bytes)), request,
          discard);
  });
}

int forebay_session_view(forebay_session* session,
                         forebay_range range,
                         forebay_view* view,
                         forebay_request** request,
                         forebay_error* error) {
  clear(request);
  if (view != nullptr) view->data = nullptr;
  return run({"view", error}, {{"session", session}, {"view", view}}, [&] {
    view->size = 0;
    start(session->runtime, session->session.view({range.offset, range.size}), request,
          [view](View&& got, forebay_request*) noexcept { fill(*view, std::move(got)); });
  });
}

void forebay_view_release(forebay_view* view) {
  if (view == nullptr || view->data == nullptr) return;
  std::launder(reinterpret_cast<View*>(view->storage))->~View();
  view->data = nullptr;
  view->size = 0;
}

int forebay_session_prefetch(forebay_session* session, forebay_range range, forebay_error* error) {
  return run({"prefetch", error}, {{"session", session}},
             [&] { session->session.prefetch({range.offset, range.size}); });
}

int forebay_session_hint(forebay_session* session, const char* signature, forebay_error* error) {
  return run({"give a hint", error}, {{"session", session}, {"signature", signature}},
             [&] { check(session->session.hint(std::string_view(signature))); });
}

int forebay_session_hint_reads(forebay_session* session,
                               forebay_range_list list,
                               forebay_error* error) {
  return run({"give a hint", error}, {{"session", session}},
             [&] { check(session->session.hint(ranges_of("give a hint", list))); });
}

int forebay_session_get_report(const forebay_session* session,
                               forebay_session_report* report,
                               forebay_error* error) {
  return run({"report", error}, {{"session", session}, {"report", report}}, [&] {
    const forebay::SessionReport made = session->session.report();
    forebay_session_report into{};
    into.bytes_served = made.bytes_served;
    into.bytes_read = made.bytes_read;
    into.bytes_from_nodes = made.bytes_from_nodes;
    into.splinters_loaded = made.splinters_loaded;
    into.splinters_reread = made.splinters_reread;
    into.private_copies = made.private_copies;
    into.private_copy_bytes = made.private_copy_bytes;
    into.window_bytes = made.window_bytes;
    into.readahead_bytes = made.readahead_bytes;
    into.prefetch_hits = made.prefetch.hits;
    into.prefetch_late = made.prefetch.late;
    into.prefetch_misses = made.prefetch.misses;
    into.bytes_pushed = made.prefetch.bytes_pushed;
    into.bytes_wasted = made.prefetch.bytes_wasted;
    into.plan_reason = session->session.plan().reason.c_str();
    write_struct("report", report, into);
  });
}

void forebay_session_close(forebay_session* session) {
  if (session == nullptr) return;
  session->session.close();
  delete session;
}
