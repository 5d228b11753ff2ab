// SPDX-License-Identifier: Apache-2.0
// Wrappers of calls of MPI-IO: the real call, with the same arguments, then a record. The names
// PMPI_ are wrapped, too: the Fortran bindings of Open MPI call them. Defined without mpi.h, as
// mpi_function.hpp explains, so they serve any MPI.
#include <climits>

#include "interpose/pmpi/mpi_files.hpp"
#include "interpose/pmpi/mpi_function.hpp"
#include "interpose/posix/recorder.hpp"

#define FOREBAY_WRAPPER extern "C" [[gnu::visibility("default")]]

namespace forebay::interpose {

namespace {

enum class Place : std::uint8_t { kOffset, kIndividual, kShared };
enum class Last : std::uint8_t { kStatus, kOther };
enum class Ranks : std::uint8_t { kOne, kAll };
enum class Count : std::uint8_t { kInt, kLarge };

__thread bool is_inside [[gnu::tls_model("initial-exec")]] = false;

/// With a handler for errors of the program, MPICH returns success for calls with invalid
/// arguments, too. Queries with these would end the program, so nothing more is recorded.
constinit std::atomic<bool> has_handler{false};

/// The outermost call of MPI-IO of this thread: other tools, and MPI, may make calls inside it. A
/// thread that leaves one by an exception records no further ones.
class OuterCall {
 public:
  OuterCall() noexcept
      : is_outer_(!is_inside && is_recording() && !has_handler.load(std::memory_order_relaxed)) {
    if (is_outer_) is_inside = true;
  }
  ~OuterCall() {
    if (is_outer_) is_inside = false;
  }
  OuterCall(const OuterCall&) = delete;
  OuterCall& operator=(const OuterCall&) = delete;

  bool is_recorded() const noexcept { return is_outer_; }
  MpiFile* file(Word handle) const noexcept { return is_outer_ ? find_file(handle) : nullptr; }

 private:
  const bool is_outer_;
};

/// A function, and the one without `_c`.
struct Functions {
  MpiFunction& real;
  MpiFunction& narrow;
};

struct Form {
  Place place;
  Last last;
  Ranks ranks;
  Count count;

  constexpr std::size_t count_at() const noexcept { return place == Place::kOffset ? 3 : 2; }
};

constinit MpiFunction create_type("PMPI_Type_create_hindexed");
constinit MpiFunction commit_type("PMPI_Type_commit");
constinit MpiFunction free_type("PMPI_Type_free");
constinit MpiFunction extent_of("PMPI_Type_get_extent");

/// A call `_c` for an MPI that lacks it. Programs with a weak reference find it here, and would use
/// a type for many elements otherwise, as this does.
int call_narrow(const Functions& functions, Words words, std::size_t count_at) {
  const auto count = static_cast<std::int64_t>(words[count_at]);
  if (count <= INT_MAX) {
    words[count_at] = static_cast<Word>(count < 0 ? -1 : count);
    return functions.narrow(words);
  }
  constexpr std::int64_t kPartsMax = 64;
  std::array<int, kPartsMax> counts;
  std::array<std::int64_t, kPartsMax> places;
  std::int64_t lower_bound = 0;
  std::int64_t extent = 0;
  if (!functions.narrow.find() || count > kPartsMax * INT_MAX ||
      extent_of({words[count_at + 1], word_of(&lower_bound), word_of(&extent)}) != 0)
    return kMpiError;
  std::size_t parts = 0;
  for (std::int64_t done = 0; done < count; done += INT_MAX, ++parts) {
    counts[parts] = static_cast<int>(count - done < INT_MAX ? count - done : INT_MAX);
    places[parts] = done * extent;
  }
  Word all = 0;
  if (create_type({parts, word_of(counts.data()), word_of(places.data()), words[count_at + 1],
                   word_of(&all)}) != 0)
    return kMpiError;
  commit_type({word_of(&all)});
  words[count_at] = 1;
  words[count_at + 1] = all;
  const int result = functions.narrow(words);
  free_type({word_of(&all)});
  return result;
}

int call(const Functions& functions, const Words& words, const Form& form) {
  const bool is_narrow = form.count == Count::kLarge && !functions.real.find();
  return is_narrow ? call_narrow(functions, words, form.count_at()) : functions.real(words);
}

MpiRead describe(const MpiFile& file, const Words& words, const Form& form) noexcept {
  MpiRead read;
  if (form.place == Place::kOffset) read.position = static_cast<std::int64_t>(words[1]);
  if (form.place == Place::kIndividual) read.position = position_of(file);
  const Word count = words[form.count_at()];
  read.count = form.count == Count::kLarge ? static_cast<std::int64_t>(count)
                                           : static_cast<std::int32_t>(count);
  read.type = words[form.count_at() + 1];
  // MPI_STATUS_IGNORE is 0 or 1.
  if (form.last == Last::kStatus && words[form.count_at() + 2] > 1)
    read.status = words[form.count_at() + 2];
  read.is_collective = form.ranks == Ranks::kAll;
  return read;
}

int read(const Functions& functions, const Words& words, const Form& form) {
  const OuterCall outer;
  const MpiFile* const file = outer.file(words[0]);
  if (file == nullptr) return call(functions, words, form);
  const MpiRead read = describe(*file, words, form);
  const std::uint64_t begin = now_ns();
  const int result = call(functions, words, form);
  if (result == 0) record_read(*file, read, begin);
  return result;
}

/// A call, and `record(outer, begin_ns)` if it succeeds.
template <class Record>
int recorded(const Functions& functions, const Words& words, Record record) {
  const OuterCall outer;
  const std::uint64_t begin = now_ns();
  const int result = functions.real(words);
  if (result == 0 && outer.is_recorded()) record(outer, begin);
  return result;
}

/// (communicator, name, mode, info, file*)
int open(const Functions& functions, const Words& words) {
  return recorded(functions, words, [&](const OuterCall&, std::uint64_t begin) {
    record_open(*reinterpret_cast<const Word*>(words[4]), reinterpret_cast<const char*>(words[1]),
                static_cast<int>(words[2]), begin);
  });
}

/// (file, displacement, etype, filetype, representation, info)
int set_view(const Functions& functions, const Words& words) {
  return recorded(functions, words, [&](const OuterCall& outer, std::uint64_t begin) {
    if (MpiFile* const file = outer.file(words[0]))
      record_view(*file, static_cast<std::int64_t>(words[1]), words[2], words[3], begin);
  });
}

/// (file, offset, whence)
int seek(const Functions& functions, const Words& words) {
  return recorded(functions, words, [&](const OuterCall& outer, std::uint64_t begin) {
    if (const MpiFile* const file = outer.file(words[0])) record_seek(*file, begin);
  });
}

/// (file*)
int close(const Functions& functions, const Words& words) {
  const OuterCall outer;
  const auto* const handle = reinterpret_cast<const Word*>(words[0]);
  MpiFile* const file = handle != nullptr ? outer.file(*handle) : nullptr;
  const FileNumber number = file != nullptr ? remove_file(*file) : kNoFile;
  const std::uint64_t begin = now_ns();
  const int result = functions.real(words);
  if (number != kNoFile) record_close(number, begin);
  return result;
}

/// (function, handler*)
int create_errhandler(const Functions& functions, const Words& words) {
  has_handler.store(true, std::memory_order_relaxed);
  return functions.real(words);
}

}  // namespace

/// All wrappers have six arguments; those of their callers are the first ones.
#define FOREBAY_CALL(symbol, narrow_symbol, wrapper, ...)                          \
  FOREBAY_WRAPPER int symbol(Word a, Word b, Word c, Word d, Word e, Word f) {     \
    static constinit MpiFunction real(#symbol);                                    \
    static constinit MpiFunction narrow(#narrow_symbol);                           \
    return wrapper({real, narrow}, {a, b, c, d, e, f} __VA_OPT__(, ) __VA_ARGS__); \
  }

#define FOREBAY_OTHER(name)                            \
  FOREBAY_CALL(MPI_File_##name, MPI_File_##name, name) \
  FOREBAY_CALL(PMPI_File_##name, PMPI_File_##name, name)
FOREBAY_OTHER(open)
FOREBAY_OTHER(set_view)
FOREBAY_OTHER(seek)
FOREBAY_OTHER(close)
FOREBAY_OTHER(create_errhandler)

#define FOREBAY_READ_AS(symbol, place, last, ranks)                                         \
  FOREBAY_CALL(symbol, symbol, read, {Place::place, Last::last, Ranks::ranks, Count::kInt}) \
  FOREBAY_CALL(symbol##_c, symbol, read, {Place::place, Last::last, Ranks::ranks, Count::kLarge})
#define FOREBAY_READ(name, place, last, ranks)         \
  FOREBAY_READ_AS(MPI_File_##name, place, last, ranks) \
  FOREBAY_READ_AS(PMPI_File_##name, place, last, ranks)
#include "interpose/pmpi/calls.def"

}  // namespace forebay::interpose
