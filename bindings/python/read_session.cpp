// SPDX-License-Identifier: Apache-2.0
// The Python classes Session and View.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/python/module.hpp"
#include "bindings/python/options.hpp"
#include "bindings/python/request.hpp"

namespace forebay::python {

namespace {

using SessionHandleObject = Handle<Session>;
using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// A View of a session as memory of Python.
class PinnedView final : public ExportedMemory {
 public:
  PinnedView(RuntimePointer runtime, View view)
      : runtime_(std::move(runtime)), view_(std::move(view)), range_(view_.range()) {}

  std::span<std::byte> bytes() const override {
    check(origin_.check("use a view"));
    if (is_released_)
      throw Failure(Error({.kind = ErrorClass::kClosed,
                           .operation = "use a view",
                           .cause = "the view was released; request it again"}));
    const auto held = view_.bytes();
    return {const_cast<std::byte*>(held.data()), held.size()};  // exported read-only
  }
  bool is_read_only() const override { return true; }
  std::uint64_t offset() const noexcept { return range_.offset; }
  bool is_copy() const { return bytes().empty() ? false : view_.is_copy(); }
  void release() {
    check_unused("release");
    if (!origin_.is_current()) return;
    is_released_ = true;
    view_.release();
  }

 private:
  RuntimePointer runtime_;
  View view_;
  ByteRange range_;
  bool is_released_ = false;
  detail::OriginProcess origin_;
};

std::vector<ByteRange> ranges_of(const Ranges& pairs) {
  std::vector<ByteRange> ranges;
  ranges.reserve(pairs.size());
  for (const auto& [offset, size] : pairs)
    ranges.push_back({offset, size});
  return ranges;
}

ReadPlan read_plan_of(Options& options) {
  ReadPlan plan;
  bool is_on_demand = false;
  bool is_reread = false;
  options.take("on_demand", is_on_demand);
  options.take("reread", is_reread);
  if (is_on_demand) plan.mode = Mode::kOnDemand;
  if (is_reread) plan.eviction = EvictionPolicy::kLru;
  options.take_name("access", plan.access, {Access::kBuffered, Access::kDirect});
  options.take_size("budget_bytes", plan.budget_bytes);
  std::uint64_t readahead = UINT64_MAX;
  options.take_size("readahead_bytes", readahead);
  if (readahead != UINT64_MAX) plan.readahead_bytes = readahead;
  options.take("tune", plan.tune);
  options.take_size("request_bytes", plan.tuning.request_bytes);
  options.take("queue_depth", plan.tuning.queue_depth);
  options.take_size("splinter_bytes", plan.tuning.splinter_bytes);
  return plan;
}

std::shared_ptr<Request> read_bytes(const SessionHandleObject& self,
                                    std::uint64_t offset,
                                    std::uint64_t size) {
  const auto live = self.live("read");
  if (size > static_cast<std::uint64_t>(PY_SSIZE_T_MAX)) refuse("read", "the size is negative");
  const nb::object bytes =
      nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!bytes.is_valid()) throw nb::python_error();
  const std::span<std::byte> into(reinterpret_cast<std::byte*>(PyBytes_AS_STRING(bytes.ptr())),
                                  size);
  return make_request(live->runtime, std::make_shared<ForeignMemory>("read", bytes, Need::kRead),
                      live->value.read(offset, into), [bytes](ByteCount) { return bytes; });
}

nb::object count_of(ByteCount count) { return nb::int_(count); }

std::shared_ptr<Request> read_into(const SessionHandleObject& self,
                                   std::uint64_t offset,
                                   nb::handle into) {
  const auto live = self.live("read");
  auto memory = std::make_shared<ForeignMemory>("read", into, Need::kWrite);
  auto future = live->value.read(offset, memory->bytes());
  return make_request(live->runtime, std::move(memory), std::move(future), count_of);
}

std::shared_ptr<Request> read_ranges(const SessionHandleObject& self,
                                     const Ranges& ranges,
                                     nb::handle into) {
  const auto live = self.live("read");
  auto memory = std::make_shared<ForeignMemory>("read", into, Need::kWrite);
  auto future = live->value.read(ranges_of(ranges), memory->bytes());
  return make_request(live->runtime, std::move(memory), std::move(future), count_of);
}

std::shared_ptr<Request> read_array(const SessionHandleObject& self,
                                    nb::handle dtype,
                                    const Shape& shape,
                                    const nb::kwargs& given) {
  const auto live = self.live("read");
  Options options("read_array", given);
  Subarray block{.shape = shape, .start = Shape(shape.size(), 0), .count = shape};
  options.take("start", block.start);
  options.take("count", block.count);
  options.take("offset", block.array_offset);
  std::string order = "C";
  options.take("order", order);
  options.check_all_taken();
  if (order != "C" && order != "F") refuse("read", "order is '" + order + "'; it is 'C' or 'F'");
  block.order = order == "F" ? ArrayOrder::kFortran : ArrayOrder::kC;
  const nb::object numpy = nb::module_::import_("numpy");
  const nb::object type = numpy.attr("dtype")(dtype);
  if (nb::cast<bool>(type.attr("hasobject"))) refuse("read", "the dtype holds Python objects");
  block.element_bytes = nb::cast<std::size_t>(type.attr("itemsize"));
  const nb::object array =
      numpy.attr("empty")(nb::tuple(nb::cast(block.count)), type, nb::arg("order") = order);
  // Elements arrive in file order, which is the order of the array in memory.
  const nb::object flat = array.attr("reshape")(-1, nb::arg("order") = order).attr("view")("u1");
  auto memory = std::make_shared<ForeignMemory>("read", flat, Need::kWrite);
  auto future = live->value.read(block, memory->bytes());
  return make_request(live->runtime, std::move(memory), std::move(future),
                      [array](ByteCount) { return array; });
}

std::shared_ptr<Request> request_view(const SessionHandleObject& self,
                                      std::uint64_t offset,
                                      std::uint64_t size) {
  const auto live = self.live("view");
  return make_request(live->runtime, nullptr, live->value.view({offset, size}),
                      [runtime = live->runtime](View view) {
                        return nb::cast(std::make_unique<PinnedView>(runtime, std::move(view)));
                      });
}

nb::object slice_view(const SessionHandleObject& self, const nb::slice& slice) {
  const ByteRange extent = self.value("view").extent();
  const auto bound = [&](const char* name, std::uint64_t open_value) {
    const nb::object given = slice.attr(name);
    if (given.is_none()) return open_value;
    std::uint64_t value = 0;
    if (!nb::try_cast(given, value))
      refuse("view", "a bound of the slice is no offset of the file: 0 or more");
    return value;
  };
  if (!nb::object(slice.attr("step")).is_none()) refuse("view", "the slice has a step");
  const std::uint64_t first = bound("start", extent.offset);
  const std::uint64_t last = bound("stop", extent.end());
  if (last < first) refuse("view", "the slice ends before it begins");
  return request_view(self, first, last - first)->result(std::nullopt);
}

void hint_reads(const SessionHandleObject& self, const nb::object& reads) {
  const Session& session = self.value("hint");
  if (session.plan().mode != Mode::kOnDemand)
    refuse("hint", "the session reads its whole extent; open it with on_demand=True");
  std::string signature;
  if (nb::try_cast(reads, signature)) return check(session.hint(signature));
  Ranges ranges;
  if (!nb::try_cast(reads, ranges))
    refuse("hint", "the reads are no signature; pass its text, or pairs (offset, size)");
  check(session.hint(ranges_of(ranges)));
}

nb::dict report_of_session(const SessionHandleObject& self) {
  const SessionReport report = self.value("report").report();
  nb::dict made;
  made["bytes_served"] = report.bytes_served;
  made["bytes_read"] = report.bytes_read;
  made["bytes_from_nodes"] = report.bytes_from_nodes;
  made["splinters_loaded"] = report.splinters_loaded;
  made["splinters_reread"] = report.splinters_reread;
  made["loads_by_waiters"] = report.loads_by_waiters;
  made["private_copies"] = report.private_copies;
  made["private_copy_bytes"] = report.private_copy_bytes;
  made["window_bytes"] = report.window_bytes;
  made["readahead_bytes"] = report.readahead_bytes;
  made["hits"] = report.prefetch.hits;
  made["late"] = report.prefetch.late;
  made["misses"] = report.prefetch.misses;
  made["early"] = report.prefetch.early;
  made["bytes_pushed"] = report.prefetch.bytes_pushed;
  made["bytes_wasted"] = report.prefetch.bytes_wasted;
  return made;
}

nb::dict plan_of_session(const SessionHandleObject& self) {
  const ReadPlan& plan = self.value("plan").plan();
  nb::dict made;
  made["access"] = plan.access ? nb::object(nb::str(name_of(*plan.access).data())) : nb::none();
  made["budget_bytes"] = plan.budget_bytes;
  made["readahead_bytes"] = plan.readahead_bytes;
  made["request_bytes"] = plan.tuning.request_bytes;
  made["queue_depth"] = plan.tuning.queue_depth;
  made["splinter_bytes"] = plan.tuning.splinter_bytes;
  made["reason"] = plan.reason;
  return made;
}

void close_session(SessionHandleObject& self) {
  if (!self.is_open()) return;
  const auto live = self.live("close");
  live->value.close();
  self.drop();
}

}  // namespace

nb::object open_session(RuntimeState& state, const nb::object& path, const nb::kwargs& given) {
  Options options("open_session", given);
  Extent extent;
  options.take("offset", extent.offset);
  options.take("size", extent.size);
  const ReadPlan plan = read_plan_of(options);
  options.check_all_taken();
  const RuntimePointer runtime = state.runtime("open a session");
  Result<Session> opened = state.context()->call([runtime, name = path_of(path), extent, plan] {
    return runtime->open_file(name).and_then(
        [&](const File& file) { return file.read_session(extent, plan); });
  });
  auto session =
      make_handle<SessionHandleObject>(state.context(), runtime, value_of(std::move(opened)));
  return nb::cast(session);
}

void bind_sessions(nb::module_& module) {
  nb::class_<PinnedView, ExportedMemory>(
      module, "View",
      "A contiguous, read-only part of a session: numpy.asarray(view) copies nothing. The bytes "
      "stay valid until release() or the end of the last array, also after Session.close().")
      .def_prop_ro("offset", &PinnedView::offset,
                   "Offset of the bytes, from the start of the file.")
      .def_prop_ro("is_copy", &PinnedView::is_copy,
                   "True for a private copy instead of a part of the window.")
      .def("release", &PinnedView::release,
           "Releases the bytes. Raises BufferError while an array uses them; a later use of the "
           "view raises ClosedError.")
      .def("__enter__", &identity, nb::sig("def __enter__(self) -> typing.Self"))
      .def("__exit__", [](PinnedView& self, const nb::args&) { self.release(); });
  nb::class_<SessionHandleObject>(
      module, "Session",
      "Declares that an extent of a file will be read; agents begin at once. Offsets count from "
      "the start of the file. Used from any thread.")
      .def("read", &read_bytes, nb::arg("offset"), nb::arg("size"),
           nb::sig("def read(self, offset: int, size: int) -> Future[bytes]"),
           "Reads exactly `size` bytes.")
      .def("readinto", &read_into, nb::arg("offset"), nb::arg("into"),
           nb::sig("def readinto(self, offset: int, into: Writable) -> Future[int]"),
           "Fills `into`, any contiguous writable buffer; do not use it until the future is "
           "finished or cancelled. Returns the number of bytes.")
      .def("readinto_ranges", &read_ranges, nb::arg("ranges"), nb::arg("into"),
           nb::sig("def readinto_ranges(self, ranges: collections.abc.Sequence[tuple[int, int]], "
                   "into: Writable) -> Future[int]"),
           "Reads ranges (offset, size), one after the other in `into`, as one request.")
      .def("read_array", &read_array, nb::arg("dtype"), nb::arg("shape"), nb::arg("options"),
           nb::sig("def read_array(self, dtype: typing.Any, shape: collections.abc.Sequence[int], "
                   "**options: typing.Unpack[forebay.options.ArrayOptions]) "
                   "-> Future[numpy.ndarray]"),
           "Reads a block of an array that the file stores without a header.")
      .def("view", &request_view, nb::arg("offset"), nb::arg("size"),
           nb::sig("def view(self, offset: int, size: int) -> Future[View]"),
           "Requests one contiguous View.")
      .def("__getitem__", &slice_view, nb::arg("slice"),
           nb::sig("def __getitem__(self, slice: slice) -> View"),
           "session[a:b]: waits for the View of these bytes.")
      .def(
          "prefetch",
          [](const SessionHandleObject& self, std::uint64_t offset, std::uint64_t size) {
            self.value("prefetch").prefetch({offset, size});
          },
          nb::arg("offset"), nb::arg("size"), "Hints that bytes will be read soon. Never blocks.")
      .def(
          "hint", &hint_reads, nb::arg("reads"),
          nb::sig("def hint(self, reads: str | collections.abc.Sequence[tuple[int, int]]) -> None"),
          "States the coming reads of this thread, as a signature or a list of (offset, size). "
          "Needs on_demand=True.")
      .def_prop_ro("path",
                   [](const SessionHandleObject& self) { return self.value("path").path(); })
      .def_prop_ro(
          "offset",
          [](const SessionHandleObject& self) { return self.value("offset").extent().offset; })
      .def_prop_ro(
          "size", [](const SessionHandleObject& self) { return self.value("size").extent().size; },
          "Size of the extent in bytes.")
      .def_prop_ro("plan", &plan_of_session, "The plan in force; `reason` explains it.")
      .def_prop_ro("report", &report_of_session, "Totals since the session was opened.")
      .def_prop_ro("closed", [](const SessionHandleObject& self) { return !self.is_open(); })
      .def("close", &close_session,
           "Ends the session: requests in progress raise ClosedError. Views stay valid.")
      .def("__enter__", &identity, nb::sig("def __enter__(self) -> typing.Self"))
      .def("__exit__", [](SessionHandleObject& self, const nb::args&) { close_session(self); });
}

}  // namespace forebay::python
