// SPDX-License-Identifier: Apache-2.0
// run.*: programs that are not changed, with and without `forebay run`, on emulated storage. Each
// runs on its own and under an agent in turn; its output must be the same.
#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/emufs/emufs_mount.hpp"
#include "bench/frame/benchmark.hpp"
#include "bench/frame/clock.hpp"
#include "bench/run/run_agent.hpp"

namespace forebay::bench::run {

namespace {

namespace fs = std::filesystem;

constexpr unsigned kRounds = 5;
constexpr unsigned kHarmRounds = 5;
constexpr std::uint64_t kFileBytes = 64_MiB;

/// A command of the shell. "DATA" is a file of kFileBytes, "TEXT" one of lines, "MANY" a directory
/// of small files, "DIR" that of numbered files, "READER" the program forebay-bench-reader.
struct Program {
  std::string name;
  std::string command;
};

std::string reader(const std::string& signature) { return "READER DATA '" + signature + "'"; }

/// The same random order in each run.
std::string random_order() {
  std::vector<std::uint64_t> cells(250);
  std::iota(cells.begin(), cells.end(), 0);
  std::ranges::shuffle(cells, std::mt19937_64(5));
  std::string list = "read [";
  for (std::size_t i = 0; i < 200; ++i)
    list += (i > 0 ? ", " : "") + std::to_string(cells[i] * 262'144) + " 1024";
  return list + "]";
}

const std::vector<Program>& wide_programs() {
  static const std::vector<Program> programs = {
      {"stride 64k", reader("read {200 x (65536 i, 1024)}")},
      {"stride 32k", reader("read {200 x (32768 i, 1024)}")},
      {"nested 64k/192k", reader("read {100 x {2 x (262144 i + 65536 j, 1024)}}")},
      {"Python, stride 64k",
       "python3 -c \"import os; f = os.open('DATA', 0); "
       "print(sum(os.pread(f, 1024, i * 65536)[0] for i in range(600)))\""}};
  return programs;
}

const std::vector<Program>& harm_programs() {
  static const std::vector<Program> programs = {
      {"md5sum", "md5sum DATA"},
      {"cat", "cat DATA"},
      {"cp", "cp DATA COPY"},
      {"wc", "wc TEXT"},
      {"grep", "grep -c abc TEXT"},
      {"sort", "sort TEXT"},
      {"tar", "tar cf - -C MANY ."},
      {"sequential 4k", reader("read {4000 x (4096 i, 4096)}")},
      {"stride 4k", reader("read {1024 x (4096 i, 1024)}")},
      {"nested 2k/6k", reader("read {512 x {2 x (8192 i + 2048 j, 1024)}}")}};
  return programs;
}

/// A mounted machine with the files of the programs.
class Place {
 public:
  static Result<std::unique_ptr<Place>> make(Context& context, const std::string& machine) {
    const auto words = context.word_file(kFileBytes);
    if (!words) return failure(words.error());
    auto mounted =
        emufs::EmufsMount::make(context.directory(), {.machine = machine, .arguments = {}});
    if (!mounted) return failure(mounted.error());
    std::unique_ptr<Place> place(new Place(context, std::move(*mounted)));
    if (auto data = place->mounted_->create_file("data", kFileBytes, *words); !data)
      return failure(data.error());
    if (auto made = place->write_texts(); !made) return failure(made.error());
    if (auto made = place->write_series(*words); !made) return failure(made.error());
    return place;
  }

  Status drop_caches() { return mounted_->drop_caches(); }

  /// Runs a program; returns its seconds. Its output must be that of the runs before.
  Result<double> time(const Program& program, const EnvironmentVariables& settings) {
    const fs::path output = context_.directory() / "output";
    const std::string command = expand(program.command) + " > " + output.string() + " 2>&1";
    const Stopwatch watch;
    if (auto done = run_child({"sh", "-c", command}, settings); !done) return failure(done.error());
    const double seconds = watch.seconds();
    const std::string content = read(output);
    const auto [known, is_first] = outputs_.try_emplace(program.name, content);
    if (is_first || known->second == content) return seconds;
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "run " + program.name,
                    .cause = "its output differs between runs"});
  }

  /// Under an agent that has the profiles of this directory.
  Result<double> time_with_agent(const Program& program, const fs::path& profiles) {
    auto agent = RunAgent::start(profiles);
    if (!agent) return failure(agent.error());
    return time(program, (*agent)->environment());
  }

  /// A new name for a directory of profiles.
  fs::path new_profiles() {
    return context_.directory() / ("profiles-" + std::to_string(++profiles_));
  }

 private:
  Place(Context& context, std::unique_ptr<emufs::EmufsMount> mounted)
      : context_(context), mounted_(std::move(mounted)) {}

  static std::string read(const fs::path& path) {
    std::stringstream content;
    content << std::ifstream(path, std::ios::binary).rdbuf();
    return content.str();
  }

  Status write_texts() {
    const fs::path text = context_.directory() / "text";
    std::mt19937_64 random(3);
    std::ofstream out(text);
    for (int line = 0; line < 200'000; ++line)
      out << std::hex << random() << ' ' << random() << " abc"[random() % 4] << '\n';
    out.close();
    if (auto made = mounted_->create_file("text", 0, text); !made) return failure(made.error());
    std::error_code failed;
    fs::create_directory(mounted_->path() / "many", failed);
    for (int i = 0; i < 40; ++i) {
      auto made = mounted_->create_file("many/" + std::to_string(i), 5000);
      if (!made) return failure(made.error());
    }
    return {};
  }

  Status write_series(const fs::path& words) {
    const fs::path one = context_.directory() / "one";
    std::error_code failed;
    fs::copy_file(words, one, fs::copy_options::overwrite_existing, failed);
    if (!failed) fs::resize_file(one, 4_MiB, failed);
    if (failed)
      return failure(system_error({.operation = "write", .path = one.string()}, failed.value()));
    for (int i = 10; i < 26; ++i) {
      auto made = mounted_->create_file("step-" + std::to_string(i), 0, one);
      if (!made) return failure(made.error());
    }
    return {};
  }

  std::string expand(std::string command) const {
    const std::map<std::string, fs::path> names = {
        {"DATA", mounted_->path() / "data"},
        {"TEXT", mounted_->path() / "text"},
        {"MANY", mounted_->path() / "many"},
        {"DIR", mounted_->path()},
        {"COPY", context_.directory() / "copy"},
        {"READER", fs::read_symlink("/proc/self/exe").parent_path() / "forebay-bench-reader"}};
    for (const auto& [name, path] : names) {
      for (std::size_t at = command.find(name); at != std::string::npos; at = command.find(name))
        command.replace(at, name.size(), path.string());
    }
    return command;
  }

  Context& context_;
  std::unique_ptr<emufs::EmufsMount> mounted_;
  std::map<std::string, std::string> outputs_;
  int profiles_ = 0;
};

enum class Profiles : std::uint8_t { kNone, kOfFirstRun };
enum class Caches : std::uint8_t { kCold, kWarm };

/// Times of a program on its own ("today") and under an agent ("forebay").
Result<Rounds> compare(Context& context,
                       std::string_view id,
                       Place& place,
                       const Program& program,
                       Profiles profiles,
                       Caches caches,
                       unsigned rounds) {
  const auto prepare = [&place, caches] {
    return caches == Caches::kCold ? place.drop_caches() : Status();
  };
  const fs::path learned = place.new_profiles();
  if (profiles == Profiles::kOfFirstRun) {
    if (auto first = place.time_with_agent(program, learned); !first) return failure(first.error());
  }
  return context.run(id, rounds,
                     {{"today", prepare, [&place, &program] { return place.time(program, {}); }},
                      {"forebay", prepare, [&place, &program, profiles, &learned] {
                         return place.time_with_agent(program, profiles == Profiles::kOfFirstRun
                                                                   ? learned
                                                                   : place.new_profiles());
                       }}});
}

struct Row {
  const char* id;
  const char* machine;
  const std::vector<Program>& (*programs)();
  Profiles profiles;
  std::vector<Caches> caches;
  const char* over;
  const char* under;
  Goal goal;
};

/// The worst program decides.
Status bench_row(Context& context, Place& place, const Row& row) {
  ResultRow result{row.id, "1", {}, row.goal, {}};
  for (const Program& program : row.programs()) {
    for (const Caches caches : row.caches) {
      const auto rounds = compare(context, row.id, place, program, row.profiles, caches,
                                  row.goal.better == Better::kLower ? kHarmRounds : kRounds);
      if (!rounds) return failure(rounds.error());
      const std::string name = program.name + (caches == Caches::kWarm ? ", warm" : "");
      for (const char* const way : {"today", "forebay"})
        result.peers.push_back({name + ", " + way, "s", rounds->summary(way)});
      const Summary ratio = rounds->ratio(row.over, row.under);
      const bool is_lower = ratio.median < result.measured.median;
      const bool is_worse = is_lower == (row.goal.better == Better::kHigher);
      if (result.measured.runs == 0 || is_worse) result.measured = ratio;
    }
  }
  context.add(std::move(result));
  return {};
}

const std::vector<Program>& random_programs() {
  static const std::vector<Program> programs = {{"random order", reader(random_order())}};
  return programs;
}

/// 16 numbered files of 4 MiB, read one after the other.
const std::vector<Program>& series_programs() {
  static const std::vector<Program> programs = {
      {"Python, series of files",
       "python3 -c \"import os, hashlib; h = hashlib.md5(); "
       "[h.update(os.pread(f, 65536, k * 65536)) for f in (os.open('DIR/step-%d' % i, 0) "
       "for i in range(10, 26)) for k in range(64)]; print(h.hexdigest())\""}};
  return programs;
}

const std::vector<Program>& long_programs() {
  static const std::vector<Program> programs = {
      {"sequential, 4 MiB", reader("read {16 x (4194304 i, 4194304)}")}};
  return programs;
}

std::vector<Row> rows() {
  constexpr Goal kFirst{8, Better::kHigher};
  constexpr Goal kSecond{12, Better::kHigher};
  constexpr Goal kRandom{10, Better::kHigher};
  constexpr Goal kSeries{1.8, Better::kHigher};
  constexpr Goal kLong{2.5, Better::kHigher};
  const std::vector<Caches> cold = {Caches::kCold};
  const std::vector<Caches> both = {Caches::kCold, Caches::kWarm};
  return {
      {"run.first", "nfs", wide_programs, Profiles::kNone, cold, "today", "forebay", kFirst},
      {"run.second", "nfs", wide_programs, Profiles::kOfFirstRun, cold, "today", "forebay",
       kSecond},
      {"run.random", "nfs", random_programs, Profiles::kOfFirstRun, cold, "today", "forebay",
       kRandom},
      {"run.series", "nfs", series_programs, Profiles::kNone, cold, "today", "forebay", kSeries},
      {"run.harm", "nfs", harm_programs, Profiles::kOfFirstRun, both, "forebay", "today", {1.05}},
      {"run.sequential", "lustre-small", long_programs, Profiles::kNone, cold, "today", "forebay",
       kLong},
      {"run.harm.lustre",
       "lustre-small",
       harm_programs,
       Profiles::kNone,
       both,
       "forebay",
       "today",
       {1.05}},
  };
}

}  // namespace

FOREBAY_BENCHMARK(run, "unchanged programs with and without `forebay run`") {
  const std::string why = emufs::mount_unavailable_reason();
  std::unique_ptr<Place> place;
  std::string machine;
  for (const Row& row : rows()) {
    if (!context.is_selected(row.id)) continue;
    if (!why.empty()) {
      context.skip(row.id, why);
      continue;
    }
    if (machine != row.machine) {
      place.reset();
      auto made = Place::make(context, machine = row.machine);
      if (!made) return failure(made.error());
      place = std::move(*made);
    }
    if (auto done = bench_row(context, *place, row); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench::run
