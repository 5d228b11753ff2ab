// SPDX-License-Identifier: Apache-2.0
// The Python class Runtime: creates the objects of all other files, and ends at the exit of Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bindings/python/memory.hpp"
#include "bindings/python/module.hpp"
#include "bindings/python/options.hpp"
#include "runtime/runtime_access.hpp"

namespace forebay::python {

namespace {

std::vector<std::weak_ptr<RuntimeState>>& all_states() {
  static std::vector<std::weak_ptr<RuntimeState>> states;
  return states;
}

/// Ends the agents at the exit of Python, before the interpreter.
void close_all() {
  for (const auto& kept : std::exchange(all_states(), {}))
    if (const auto state = kept.lock()) state->drop();
  GilRelease::stop_other_threads();
}

RuntimeOptions options_of(const nb::kwargs& given) {
  Options options("Runtime", given);
  RuntimeOptions made = value_of(options_from_environment());
  options.take_size("budget_bytes", made.budget_bytes);
  options.take("machine", made.machine);
  options.take("hints", made.hints_path);
  options.take("learned_hints", made.learned_hints_path);
  options.take("trace", made.trace_path);
  options.take("network", made.network);
  options.take("profile", made.tuning.profile);
  options.take("copy_threads", made.tuning.copy_threads);
  options.take_name("placement", made.placement, {Placement::kInRank, Placement::kDedicated});
  options.take_name("backend", made.tuning.backend,
                    {BackendChoice::kAuto, BackendChoice::kIoUring, BackendChoice::kThreads,
                     BackendChoice::kAio});
  options.check_all_taken();
  return made;
}

Ranks ranks_of_object(const nb::object& comm) {
  if (comm.is_none()) return {};
  nb::object made = comm;
  if (!nb::isinstance<Ranks>(comm))
    made = nb::module_::import_("forebay.mpi_ranks").attr("ranks_of")(comm);
  return nb::cast<Ranks>(made);
}

std::shared_ptr<RuntimeState> create(nb::handle /*cls*/,
                                     const nb::object& comm,
                                     const nb::kwargs& given) {
  drop_deferred();
  const Ranks ranks = ranks_of_object(comm);
  const Result<RuntimeOptions> options = result_of([&] { return options_of(given); });
  Status agreed;
  RuntimePointer runtime;
  {
    const GilRelease released;
    agreed = RuntimeAccess::agree(ranks, options ? Status() : failure(options.error()));
    if (agreed) runtime = RuntimePointer(new Runtime(ranks, *options), BlockingDeleter());
  }
  check(agreed);
  auto state = std::make_shared<RuntimeState>(std::move(runtime));
  std::erase_if(all_states(), [](const auto& kept) { return kept.expired(); });
  all_states().push_back(state);
  return state;
}

void serve(RuntimeState& state) {
  const RuntimePointer runtime = state.runtime("serve");
  check(state.context()->call([runtime] { return runtime->serve(); }));
}

}  // namespace

std::string path_of(const nb::object& path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) throw nb::python_error();
  const nb::object owned = nb::steal(bytes);
  return {PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes))};
}

void bind_runtime(nb::module_& module) {
  static_cast<void>(
      nb::class_<Ranks>(module, "Ranks", "The ranks of an MPI communicator, for Runtime()."));
  nb::class_<RuntimeState>(
      module, "Runtime",
      "Owns agents and memory. `comm`, a communicator of mpi4py, makes this process one of several "
      "ranks; creation is collective then. Options override variables FOREBAY_... of the "
      "environment.",
      nb::is_weak_referenceable())
      .def_static("__new__", &create, nb::arg("cls"), nb::arg("comm") = nb::none(),
                  nb::arg("options"),
                  nb::sig("def __new__(cls, comm: typing.Any = None, "
                          "**options: typing.Unpack[forebay.options.RuntimeOptions]) -> Runtime"))
      .def(
          "__init__", [](nb::handle /*self*/, const nb::args&, const nb::kwargs&) {},
          nb::sig("def __init__(self, *args: typing.Any, **options: typing.Any) -> None"))
      .def("open_session", &open_session, nb::arg("path"), nb::arg("options"),
           nb::sig("def open_session(self, path: Path, "
                   "**options: typing.Unpack[forebay.options.SessionOptions]) -> Session"),
           "Opens a file and declares that its bytes will be read. With ranks collective over the "
           "compute ranks.")
      .def(
          "open",
          [](nb::handle self, const nb::object& path, const nb::kwargs& given) {
            return nb::module_::import_("forebay.raw_file").attr("open_file")(self, path, **given);
          },
          nb::arg("path"), nb::arg("options"),
          nb::sig("def open(self, path: Path, **options: "
                  "typing.Unpack[forebay.options.SessionOptions]) -> forebay.raw_file.RawFile"),
          "Opens a file object for numpy.load(), h5py, pandas and others. By default Forebay "
          "learns what they read, and reads ahead.")
      .def("create_dataset", &create_dataset, nb::arg("path"), nb::arg("options"),
           nb::sig("def create_dataset(self, path: Path, "
                   "**options: typing.Unpack[forebay.options.DatasetOptions]) -> DatasetWriter"),
           "Creates a dataset, or opens it to append. Collective over the compute ranks.")
      .def("open_dataset", &open_dataset, nb::arg("path"), nb::arg("options"),
           nb::sig("def open_dataset(self, path: Path, "
                   "**options: typing.Unpack[forebay.options.ReaderOptions]) -> DatasetReader"),
           "Opens a dataset for reading. Collective over the compute ranks.")
      .def("create_output_stream", &create_output_stream, nb::arg("options"),
           nb::sig("def create_output_stream(self, "
                   "**options: typing.Unpack[forebay.options.StreamOptions]) -> OutputStream"),
           "Creates a stream that writes files behind the computation. Not collective.")
      .def("allocate", &allocate, nb::arg("shape"), nb::arg("dtype") = "uint8", nb::arg("options"),
           nb::sig("def allocate(self, shape: int | collections.abc.Sequence[int], "
                   "dtype: typing.Any = 'uint8', *, pinned: bool = False) -> Buffer"),
           "Allocates memory that a step can adopt: storage is written from it without a copy. "
           "Its content is undefined.")
      .def("serve", &serve, "Reads and writes for other ranks, on an I/O rank, until they end.")
      .def_prop_ro(
          "rank", [](RuntimeState& state) { return state.runtime("rank")->rank(); },
          "Number of this process among the ranks with its role.")
      .def_prop_ro("rank_count",
                   [](RuntimeState& state) { return state.runtime("rank_count")->rank_count(); })
      .def_prop_ro(
          "is_io_rank",
          [](RuntimeState& state) { return state.runtime("role")->role() == Role::kIo; },
          "True on a rank that only reads and writes for others: call serve() there.")
      .def("close", &RuntimeState::close,
           "Closes all sessions, streams and datasets: waits for committed steps and submitted "
           "buffers, and raises the first Error. Views stay valid; the agents end with the last "
           "one. With several ranks blocks for others, at most one minute.")
      .def("__enter__", &identity, nb::sig("def __enter__(self) -> typing.Self"))
      .def("__exit__", [](RuntimeState& self, const nb::args& raised) {
        if (raised[0].is_none()) return self.close();
        self.drop();  // an exception that is under way comes first
      });
  module.def("_close_all", &close_all);
  nb::module_::import_("atexit").attr("register")(module.attr("_close_all"));
}

}  // namespace forebay::python
