// SPDX-License-Identifier: Apache-2.0
// Sessions on an emulated parallel file system, against the limit of its machine file and beside
// programs that read for themselves. Every byte is checked by every variant.
#include <forebay/istream.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "bench/emufs/mounted.hpp"
#include "bench/frame/benchmark.hpp"
#include "bench/frame/clock.hpp"
#include "bench/pfs/auto.hpp"
#include "bench/read/rows.hpp"
#include "bench/read/the_crew.hpp"
#include "model/machine.hpp"
#include "model/queueing.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::pfs {

namespace {

using read::Job;
using read::kTaskCounts;
using read::kTasks;
using read::the_crew;
using read::Work;

constexpr unsigned kRounds = 5;
constexpr double kMegabyte = 1e6;
constexpr std::size_t kRecordBytes = 4096;

/// A machine, mounted, with a file of words on it.
class Site {
 public:
  static Result<std::unique_ptr<Site>> make(Context& context, const std::string& name) {
    auto machine = model::load_machine(name, model::machine_folders(process_environment()));
    if (!machine) return tl::unexpected<Error>(machine.error());
    auto mounted = emufs::Mounted::make(context.folder(), {.machine = name, .words = {}});
    if (!mounted) return tl::unexpected<Error>(mounted.error());
    const auto words = context.word_file(
        context.choose(ByEffort<std::uint64_t>{.quick = 64_MiB, .usual = 1_GiB, .full = 4_GiB}));
    if (!words) return tl::unexpected<Error>(words.error());
    std::unique_ptr<Site> site(new Site(std::move(*machine), std::move(*mounted)));
    if (auto made = site->make_file(*words); !made) return tl::unexpected<Error>(made.error());
    return site;
  }

  Cut cut(std::uint64_t tasks) const {
    return {.path = mounted_->path() / "words", .file_bytes = file_bytes_, .task_count = tasks};
  }
  /// No client has anything of the file.
  read::Prepare cold() const {
    return [path = mounted_->path() / "words"] { return probe::drop_cached(path); };
  }
  /// What nothing can be faster than.
  double limit_s() const {
    return static_cast<double>(file_bytes_) / kMegabyte /
           model::storage_limit_mb_per_s(machine_, model::RequestKind::kRead);
  }

 private:
  Site(model::Machine machine, std::unique_ptr<emufs::Mounted> mounted)
      : machine_(std::move(machine)), mounted_(std::move(mounted)) {}

  /// Made by way of the mount, so that it has a layout; its bytes past it, which takes no time.
  Status make_file(const std::filesystem::path& words) {
    const std::filesystem::path kept = mounted_->backing() / "words";
    std::error_code failed;
    if (std::ofstream(mounted_->path() / "words")) {
      std::filesystem::copy_file(words, kept, std::filesystem::copy_options::overwrite_existing,
                                 failed);
    }
    if (!failed) file_bytes_ = std::filesystem::file_size(kept, failed);
    if (!failed && file_bytes_ > 0) return {};
    return tl::unexpected<Error>(
        system_error({.operation = "make", .path = kept.string()}, failed ? failed.value() : EIO));
  }

  model::Machine machine_;
  std::unique_ptr<emufs::Mounted> mounted_;
  std::uint64_t file_bytes_ = 0;
};

Variant variant(const std::string& name, Work work, const Site& site, std::uint64_t tasks) {
  return {name, site.cold(),
          [work, cut = site.cut(tasks)] { return the_crew().time(Job::of(work, cut)); }};
}

/// The worst number of tasks of each round, over what the storage could do.
Summary over_limit(const Rounds& rounds, const std::vector<std::string>& names, double limit_s) {
  std::vector<double> worst;
  for (std::size_t round = 0; round < rounds.values(names.front()).size(); ++round) {
    double slowest = 0;
    for (const std::string& name : names)
      slowest = std::max(slowest, rounds.values(name)[round]);
    worst.push_back(slowest / limit_s);
  }
  return summarise(worst);
}

Status bench_limit(Context& context, const Site& site) {
  const std::string id = "pfs.over_limit";
  if (!context.wants(id)) return {};
  std::vector<Variant> variants;
  std::vector<std::string> names;
  for (const std::uint64_t tasks : kTaskCounts) {
    names.push_back(std::to_string(tasks) + " tasks");
    variants.push_back(variant(names.back(), Work::kSession, site, tasks));
  }
  const auto rounds = context.run(id, kRounds, variants);
  if (!rounds) return tl::unexpected<Error>(rounds.error());
  std::vector<Peer> peers;
  for (const std::string& name : names)
    peers.push_back({name, "s", rounds->summary(name)});
  context.add({id, "1", over_limit(*rounds, names, site.limit_s()), Goal{1.03}, std::move(peers)});
  return {};
}

Status bench_naive(Context& context, const Site& site) {
  const bool wants_naive = context.wants("pfs.naive_over_session");
  const bool wants_descriptor = context.wants("pfs.naive_fd_over_session");
  if (!wants_naive && !wants_descriptor) return {};
  const auto rounds = context.run("pfs.naive_over_session", kRounds,
                                  {variant("forebay", Work::kSession, site, kTasks),
                                   variant("naive", Work::kNaive, site, kTasks),
                                   variant("naive-fd", Work::kNaiveDescriptor, site, kTasks)});
  if (!rounds) return tl::unexpected<Error>(rounds.error());
  const std::vector<Peer> peers = {{"forebay", "s", rounds->summary("forebay")},
                                   {"naive", "s", rounds->summary("naive")},
                                   {"naive-fd", "s", rounds->summary("naive-fd")}};
  if (wants_naive) {
    context.add({"pfs.naive_over_session", "1", rounds->ratio("naive", "forebay"),
                 Goal{3.3, Better::kHigher}, peers});
  }
  if (wants_descriptor) {
    context.add({"pfs.naive_fd_over_session", "1", rounds->ratio("naive-fd", "forebay"),
                 Goal{2.4, Better::kHigher}, peers});
  }
  return {};
}

/// A stream in records to its end; fails unless each is in its place.
template <class Stream>
Status read_records(Stream& stream, std::uint64_t file_bytes) {
  std::array<std::uint64_t, kRecordBytes / sizeof(std::uint64_t)> record{};
  std::uint64_t at = 0;
  std::uint64_t difference = 0;
  while (stream.read(reinterpret_cast<char*>(record.data()), kRecordBytes)) {
    difference |= record[0] ^ at;
    at += kRecordBytes;
  }
  if (at == file_bytes && difference == 0) return {};
  return failure({.kind = ErrorClass::kDamage, .operation = "read records", .offset_bytes = at});
}

Result<double> time_ifstream(const Cut& cut) {
  const Stopwatch watch;
  std::ifstream stream(cut.path, std::ios::binary);
  if (auto done = read_records(stream, cut.file_bytes); !done)
    return tl::unexpected<Error>(done.error());
  return watch.seconds();
}

Result<double> time_istream(Runtime& runtime, const Cut& cut) {
  const Stopwatch watch;
  auto file = runtime.open(cut.path.string());
  if (!file) return tl::unexpected<Error>(file.error());
  auto session = file->read_session();
  if (!session) return tl::unexpected<Error>(session.error());
  istream stream(*session);
  if (auto done = read_records(stream, cut.file_bytes); !done)
    return tl::unexpected<Error>(done.error());
  return watch.seconds();
}

Status bench_istream(Context& context, const Site& site) {
  const std::string id = "pfs.istream";
  if (!context.wants(id)) return {};
  const Cut cut = site.cut(1);
  Runtime runtime;
  const auto rounds =
      context.run(id, kRounds,
                  {{"forebay", site.cold(), [&] { return time_istream(runtime, cut); }},
                   {"std::ifstream", site.cold(), [&] { return time_ifstream(cut); }}});
  if (!rounds) return tl::unexpected<Error>(rounds.error());
  context.add({.id = id,
               .unit = "1",
               .measured = rounds->ratio("std::ifstream", "forebay"),
               .goal = Goal{4, Better::kHigher},
               .peers = {{"forebay", "s", rounds->summary("forebay")},
                         {"std::ifstream", "s", rounds->summary("std::ifstream")}}});
  return {};
}

}  // namespace

FOREBAY_BENCHMARK(pfs, "sessions on an emulated parallel file system, against its limit") {
  if (auto done = bench_auto(context); !done) return done;
  const auto site = Site::make(context, "lustre-small");
  if (!site) return tl::unexpected<Error>(site.error());
  if (auto done = bench_limit(context, **site); !done) return done;
  if (auto done = bench_naive(context, **site); !done) return done;
  return bench_istream(context, **site);
}

}  // namespace forebay::bench::pfs
