// SPDX-License-Identifier: Apache-2.0
// A view of resident bytes and its release: in C, and in C++ on a session with the same plan.
#include <forebay/runtime.hpp>

#include <memory>

#include <forebay.h>

#include "bench/door/door.hpp"
#include "bench/frame/clock.hpp"

namespace forebay::bench::door {

namespace {

constexpr std::uint64_t kFileBytes = 1_MiB;
constexpr std::uint64_t kViewBytes = 4096;
constexpr double kNanoseconds = 1e9;

void check_c(int status, const forebay_error& error) {
  if (status == FOREBAY_OK) return;
  check(failure({.kind = static_cast<ErrorClass>(status - 1),
                 .operation = "call a function of C",
                 .cause = error.message}));
}

/// A handle of C with the function that ends it.
template <class Handle>
using Owned = std::unique_ptr<Handle, void (*)(Handle*)>;

struct CSession {
  explicit CSession(const std::string& path) {
    forebay_error error;
    forebay_runtime* made_runtime = nullptr;
    check_c(forebay_runtime_create(nullptr, &made_runtime, &error), error);
    runtime.reset(made_runtime);
    forebay_file* made_file = nullptr;
    check_c(forebay_file_open(runtime.get(), path.c_str(), &made_file, &error), error);
    file.reset(made_file);
    forebay_read_plan plan FOREBAY_INIT(forebay_read_plan);
    plan.eviction = FOREBAY_EVICT_LRU;
    forebay_session* made = nullptr;
    check_c(forebay_session_open(file.get(), {0, FOREBAY_ALL}, &plan, &made, &error), error);
    session.reset(made);
  }

  Owned<forebay_runtime> runtime{nullptr, forebay_runtime_destroy};
  Owned<forebay_file> file{nullptr, forebay_file_close};
  Owned<forebay_session> session{nullptr, forebay_session_close};
};

/// Nanoseconds of one of `count` calls of `call(range)`.
template <class Call>
double time_calls(std::uint64_t count, Call call) {
  const Stopwatch watch;
  for (std::uint64_t i = 0; i < count; ++i)
    call(ByteRange{i * kViewBytes % kFileBytes, kViewBytes});
  return watch.seconds() * kNanoseconds / static_cast<double>(count);
}

double time_c(forebay_session* session, std::uint64_t count) {
  return time_calls(count, [&](const ByteRange& range) {
    forebay_view view;
    forebay_error error;
    check_c(forebay_session_view(session, {range.offset, range.size}, &view, nullptr, &error),
            error);
    forebay_view_release(&view);
  });
}

double time_cpp(const Session& session, std::uint64_t count) {
  return time_calls(count, [&](const ByteRange& range) { session.view(range).wait().value(); });
}

}  // namespace

Status bench_c_calls(Context& context) {
  const std::string path = context.word_file(kFileBytes).value().string();
  const std::uint64_t count = context.choose<std::uint64_t>(1'000'000, 10'000);
  Runtime runtime;
  const File file = runtime.open_file(path).value();
  const Session session = file.read_session({}, {.eviction = EvictionPolicy::kLru}).value();
  const CSession c(path);
  context.set_parameter("c_calls", count);
  return context.compare({
      .rows = {{"door.c_ns", difference_of("c", "cpp"), Goal{20}, "ns"}},
      .rounds = 9,
      .variants = {{"c", {}, [&] { return time_c(c.session.get(), count); }},
                   {"cpp", {}, [&] { return time_cpp(session, count); }}},
      .unit = "ns",
  });
}

}  // namespace forebay::bench::door
