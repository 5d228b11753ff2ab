// SPDX-License-Identifier: Apache-2.0
// The Python module beside the library: the cost of a view, and many asyncio tasks beside as many
// coroutines. Python starts before the clock does.
#include <forebay/runtime.hpp>

#include <fstream>
#include <string>
#include <vector>

#include "bench/door/door.hpp"
#include "bench/frame/child_process.hpp"
#include "bench/frame/clock.hpp"
#include "runner/task.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::door {

namespace {

constexpr std::uint64_t kArrayBytes = 64_MiB;
constexpr std::uint64_t kTasks = 16384;
constexpr std::uint64_t kTaskBytes = 64_KiB;

/// Arguments: the file, its size, where to store the microseconds of a view.
constexpr const char* kTimeViews = R"(
import sys, time
import numpy, forebay
path, size, result = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with forebay.Runtime(budget_bytes=2 * size) as runtime:
    with runtime.open_session(path, reread=True, budget_bytes=2 * size) as session:
        session.view(0, size).result().release()
        served = session.report["bytes_served"]
        seconds = []
        for _ in range(201):
            begin = time.perf_counter()
            array = numpy.asarray(session.view(0, size).result())
            seconds.append(time.perf_counter() - begin)
            assert array.nbytes == size and int(array[8]) == 8
            del array
        report = session.report
        assert report["bytes_served"] > served
        if report["private_copies"] or report["bytes_read"] != size:
            sys.exit("a view was copied or read again")
open(result, "w").write(str(sorted(seconds)[100] * 1e6))
)";

/// Arguments: the file, the number of tasks, where to store the seconds.
constexpr const char* kRunTasks = R"(
import asyncio, sys, time
import forebay
path, tasks, result = sys.argv[1], int(sys.argv[2]), sys.argv[3]
async def read(session, offset, size):
    assert len(await session.read(offset, size)) == size
async def run(session):
    size = session.size // tasks
    await asyncio.gather(*(read(session, task * size, size) for task in range(tasks)))
with forebay.Runtime() as runtime:
    begin = time.perf_counter()
    with runtime.open_session(path) as session:
        asyncio.run(run(session))
    seconds = time.perf_counter() - begin
open(result, "w").write(str(seconds))
)";

/// Runs a program in Python, and returns the number that it stores.
double number_of(const Context& context,
                 const char* program,
                 const std::vector<std::string>& args) {
  const std::string result = (context.directory() / "python-result").string();
  std::vector<std::string> words{"python3", "-c", program};
  words.insert(words.end(), args.begin(), args.end());
  words.push_back(result);
  check(run_child(words));
  double number = 0;
  if (!(std::ifstream(result) >> number))
    check(failure({.operation = "read the result of Python", .path = result}));
  return number;
}

runner::Task read_task(Session session, ByteRange slice) {
  std::vector<std::byte> bytes(slice.size);
  const Result<ByteCount> got = co_await session.read(slice.offset, bytes);
  if (!got) co_return failure(got.error());
  co_return Status();
}

double time_coroutines(Runtime& runtime, const std::string& path, std::uint64_t tasks) {
  const File file = runtime.open_file(path).value();
  runner::TaskGroup group(runtime.event_loop());
  const Stopwatch watch;
  {
    const Session session = file.read_session().value();
    for (std::uint64_t task = 0; task < tasks; ++task)
      group.spawn(read_task(session, {task * kTaskBytes, kTaskBytes}));
    check(group.run());
  }
  return watch.seconds();
}

}  // namespace

std::string no_python_reason() {
  const bool is_found = run_child({"python3", "-c", "import forebay; forebay.Runtime"}).has_value();
  return is_found ? "" : "python3 in PATH has no module forebay";
}

Status bench_python_views(Context& context) {
  const std::string path = context.word_file(kArrayBytes).value().string();
  context.set_parameter("view_bytes", kArrayBytes);
  return context.compare({.rows = {{"door.view_us", value_of("python"), Goal{50}, "us"}},
                          .variants = {{"python",
                                        {},
                                        [&] {
                                          return number_of(context, kTimeViews,
                                                           {path, std::to_string(kArrayBytes)});
                                        }}},
                          .unit = "us"});
}

Status bench_python_tasks(Context& context) {
  const std::uint64_t tasks = context.choose<std::uint64_t>(kTasks, 1024);
  const std::string path = context.word_file(tasks * kTaskBytes).value().string();
  const auto warm = [&] { return probe::warm(path); };
  context.set_parameter("tasks", tasks);
  Runtime runtime;
  return context.compare(
      {.rows = {{"door.tasks", ratio_of("asyncio", "coroutines"), Goal{3}}},
       .rounds = 7,
       .variants = {{"asyncio", warm,
                     [&] { return number_of(context, kRunTasks, {path, std::to_string(tasks)}); }},
                    {"coroutines", warm, [&] { return time_coroutines(runtime, path, tasks); }}}});
}

}  // namespace forebay::bench::door
