// SPDX-License-Identifier: Apache-2.0
#include "bench/run/programs.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace forebay::bench::run {

namespace {

std::string reader(const std::string& signature) {
  return "$BIN/forebay-bench-reader $DIR/data \"" + signature + "\"";
}

Program fortran() {
  return {Group::kOther, "Fortran, stride 256k",
          "$BIN/forebay-bench-reader-fortran $DIR/data $((2 * N))",
          "test -x $BIN/forebay-bench-reader-fortran"};
}

const std::string kScript = "python3 $BIN/forebay-bench-programs.py ";

/// A function of programs.py.
Program python(Group group, std::string name, const std::string& function, std::string packages) {
  return {group, std::move(name), kScript + function + " $DIR $N",
          kScript + "needs " + std::move(packages)};
}

struct Mpi {
  std::string name;
  std::string launcher;
  std::string settings;
  std::string version;  ///< what its launcher prints
};

/// `count` is the number of blocks, and options.
Program mpi(Group group,
            const std::string& name,
            const Mpi& library,
            const std::string& ranks,
            const std::string& count) {
  const std::string reader = "$BIN/forebay-bench-reader-" + library.name;
  return {
      group, name + ", " + library.name + ", ranks: " + ranks,
      library.launcher + library.settings + " -n " + ranks + " " + reader + " $DIR/data " + count,
      "test -x " + reader + " && " + library.launcher + " --version | grep -q '" + library.version +
          "'"};
}

std::vector<Program> make_programs() {
  std::vector<Program> all = {
      {Group::kWide, "stride 64k", reader("read {$N x (65536 i, 1024)}")},
      {Group::kWide, "stride 32k", reader("read {$N x (32768 i, 1024)}")},
      {Group::kWide, "nested 64k/192k",
       reader("read {$((N / 2)) x {2 x (262144 i + 65536 j, 1024)}}")},
      python(Group::kWide, "Python open, stride 64k", "open", "os"),
      python(Group::kWide, "Python os.pread, stride 64k", "pread", "os"),
      python(Group::kWide, "h5py hyperslab, stride 128k", "hyperslab", "h5py"),
      {Group::kRandom, "random order", reader("$ORDER")},
      python(Group::kSeries, "Python, series of files", "series", "hashlib"),
      python(Group::kSeries, "h5py, series of files", "hdf5_series", "h5py"),
      {Group::kLong, "sequential, 4 MiB", reader("read {$((N / 12)) x (4194304 i, 4194304)}")},
      {Group::kImport, "import of 300 modules", "PYTHONPATH=$DIR python3 -c 'import tree'",
       "command -v python3"},
      fortran(),
      python(Group::kOther, "numpy.fromfile, stride 64k", "fromfile", "numpy"),
      python(Group::kOther, "numpy.memmap, stride 64k", "memmap", "numpy"),
      python(Group::kOther, "h5py chunked", "chunked", "h5py"),
      python(Group::kOther, "zarr", "zarr", "zarr"),
      python(Group::kOther, "xarray", "xarray", "xarray zarr"),
      {Group::kOther, "sqlite3 full scan",
       "sqlite3 -readonly $DIR/table.db 'SELECT count(*), sum(length(v)) FROM t'",
       "command -v sqlite3"},
      {Group::kOther, "sqlite3 index scan",
       "sqlite3 -readonly $DIR/table.db \"SELECT sum(length(v)) FROM (SELECT v FROM t"
       " INDEXED BY by_k WHERE k >= 0 ORDER BY k LIMIT 3 * $N)\"",
       "command -v sqlite3"},
      {Group::kOther, "md5sum", "md5sum $DIR/chunked.h5"},
      {Group::kOther, "md5sum of standard input", "md5sum < $DIR/chunked.h5"},
      {Group::kOther, "cat", "cat $DIR/chunked.h5"},
      {Group::kOther, "cp", "cp $DIR/chunked.h5 $COPY"},
      {Group::kOther, "wc", "wc $DIR/text"},
      {Group::kOther, "grep", "grep -c abc $DIR/text"},
      {Group::kFailing, "grep without a match", "grep -c absent $DIR/text", "", 1},
      {Group::kFailing, "cat of a missing file", "cat $DIR/absent", "", 1},
      {Group::kOther, "sort", "sort $DIR/text"},
      {Group::kOther, "tar", "tar cf - -C $DIR/many ."},
      {Group::kOther, "sequential 4k", reader("read {$((20 * N)) x (4096 i, 4096)}")},
      {Group::kOther, "stride 4k", reader("read {$((5 * N)) x (4096 i, 1024)}")},
      {Group::kOther, "nested 2k/6k",
       reader("read {$((5 * N / 2)) x {2 x (8192 i + 2048 j, 1024)}}")}};
  const Mpi mpich{"mpich", "mpiexec", "", "HYDRA"};
  const Mpi openmpi{"openmpi", "mpiexec.openmpi", " --allow-run-as-root --oversubscribe",
                    "Open MPI\\|OpenRTE"};
  for (const Mpi& library : {mpich, openmpi}) {
    all.push_back(mpi(Group::kWide, "MPI-IO, stride 64k", library, "1", "$((16 * N))"));
    // These have two reads in progress on their own.
    all.push_back(mpi(Group::kOther, "MPI-IO, stride 64k", library, "2", "$((2 * N))"));
    all.push_back(mpi(Group::kOther, "MPI-IO, file view", library, "2", "$((2 * N)) view"));
  }
  return all;
}

}  // namespace

const std::vector<Program>& programs() {
  static const std::vector<Program> all = make_programs();
  return all;
}

std::string random_order(unsigned reads) {
  std::vector<std::uint64_t> cells(reads + reads / 4);
  std::iota(cells.begin(), cells.end(), 0);
  std::ranges::shuffle(cells, std::mt19937_64(5));
  std::string list = "read [";
  for (std::size_t i = 0; i < reads; ++i)
    list += (i > 0 ? ", " : "") + std::to_string(cells[i] * 262'144) + " 1024";
  return list + "]";
}

}  // namespace forebay::bench::run
