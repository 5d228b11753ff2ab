// SPDX-License-Identifier: Apache-2.0
// The asynchronous engine compared with fio, and with other ways to overlap writing with computing.
#include "bench/engine/engine.hpp"

#include "bench/engine/fio.hpp"
#include "bench/engine/write_target.hpp"
#include "bench/frame/cpu_affinity.hpp"

namespace forebay::bench::engine {
namespace {

/// For a thread each, or for computing and copying.
std::string two_cores_unavailable_reason() {
  return usable_cores().size() < 2 ? "two cores are required, one for each thread" : "";
}

}  // namespace

FOREBAY_BENCHMARK(engine,
                  "storage engine compared with fio, and write-behind compared with its model") {
  return run_each(
      context,
      {{{"engine.seq_read.over_fio", "engine.seq_write.over_fio", "engine.rand_read.over_fio",
         "engine.cpu.over_fio", "engine.cpu.over_fio.4m"},
        bench_over_fio,
        fio_unavailable_reason},
       {{"engine.gain.fixed", "engine.speedup", "engine.slowdown_max", "engine.compute_inflation"},
        bench_gain_fixed,
        fixed_rate_unavailable_reason},
       {{"engine.gain.buffered", "engine.compute_inflation.buffered"}, bench_gain_buffered},
       {{"engine.gain.curve"}, bench_gain_curve, fixed_rate_unavailable_reason},
       {{"engine.memory_mib"}, bench_memory},
       {{"engine.handover_us", "engine.handover_us.asleep"}, bench_submission},
       {{"engine.devices", "engine.devices.idle"}, bench_devices, fixed_rate_unavailable_reason},
       {{"engine.contention"}, bench_contention},
       {{"engine.effect.pinning", "engine.effect.allocator", "engine.effect.one_pass"},
        bench_effects_of_streams,
        two_cores_unavailable_reason},
       {{"engine.effect.false_sharing"}, bench_false_sharing, two_cores_unavailable_reason},
       {{"engine.effect.huge_pages", "engine.effect.registered"}, bench_direct_writing}});
}

}  // namespace forebay::bench::engine
