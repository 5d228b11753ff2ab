// SPDX-License-Identifier: Apache-2.0
// The Python classes OutputStream, OutputFile and OutputBuffer.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include "bindings/python/module.hpp"
#include "bindings/python/options.hpp"
#include "bindings/python/request.hpp"

namespace forebay::python {

namespace {

using FileHandle = Handle<OutputFile>;
using StreamHandle = Handle<OutputStream>;

/// A buffer of a stream as memory of Python.
class StreamBuffer final : public ExportedMemory {
 public:
  StreamBuffer(RuntimePointer runtime, OutputBuffer buffer)
      : runtime_(std::move(runtime)), buffer_(std::move(buffer)) {}

  std::span<std::byte> bytes() const override {
    check(origin_.check("use a buffer"));
    if (is_taken_)
      throw Failure(Error({.kind = ErrorClass::kClosed,
                           .operation = "use a buffer",
                           .cause = "it was submitted or released; acquire another one"}));
    return buffer_.bytes();
  }
  OutputBuffer take(const char* operation) {
    check_unused(operation);
    static_cast<void>(bytes());
    is_taken_ = true;
    return std::move(buffer_);
  }

 private:
  RuntimePointer runtime_;
  OutputBuffer buffer_;
  bool is_taken_ = false;
  detail::OriginProcess origin_;
};

std::shared_ptr<FileHandle> create_file(const StreamHandle& self,
                                        const nb::object& path,
                                        const nb::kwargs& given) {
  Options options("create", given);
  OutputFileOptions chosen;
  bool is_published = false;
  bool is_kept = false;
  options.take_size("expected_bytes", chosen.expected_bytes);
  options.take("publish", is_published);
  options.take("keep", is_kept);
  options.check_all_taken();
  if (is_published) chosen.visibility = FileVisibility::kOnPublish;
  if (is_kept) chosen.existing_content = ExistingContent::kKeep;
  const auto held = self.live("create");
  auto created =
      self.call([held, name = path_of(path), chosen] { return held->value.create(name, chosen); });
  return make_handle<FileHandle>(self.context(), held->runtime, value_of(std::move(created)));
}

void write(const StreamHandle& self,
           const FileHandle& file,
           std::uint64_t offset,
           const nb::object& data) {
  const auto held = self.live("write");
  const auto target = file.live("write");
  const auto memory = std::make_shared<ForeignMemory>("write", data, Need::kRead);
  check(self.call([held, target, offset, memory] {
    return held->value.write(target->value, offset, std::span<const std::byte>(memory->bytes()));
  }));
}

std::shared_ptr<Request> acquire(const StreamHandle& self) {
  const auto held = self.live("acquire");
  return make_request(held->runtime, nullptr, held->value.acquire_async(),
                      [runtime = held->runtime](OutputBuffer buffer) {
                        return nb::cast(std::make_unique<StreamBuffer>(runtime, std::move(buffer)));
                      });
}

void submit(const StreamHandle& self,
            StreamBuffer& buffer,
            const FileHandle& file,
            const nb::args& range) {
  if (range.size() < 1 || range.size() > 2) throw nb::type_error("submit() takes offset and size");
  std::uint64_t offset = 0;
  std::uint64_t size = kAll;
  const bool is_part = range.size() == 2 && !range[1].is_none();
  if (!nb::try_cast(range[0], offset) || (is_part && !nb::try_cast(range[1], size)))
    throw nb::type_error("offset and size of submit() are numbers of bytes, 0 or more");
  const auto held = self.live("submit");
  const auto target = file.live("submit");
  check(held->value.submit(buffer.take("submit"), target->value, offset, size));
}

template <Status (OutputStream::*kCall)()>
void stream_call(const StreamHandle& self) {
  const auto held = self.live("wait for a stream");
  check(self.call([held] { return (held->value.*kCall)(); }));
}

template <Status (OutputFile::*kCall)() const>
void file_call(const FileHandle& self) {
  const auto held = self.live("wait for a file of a stream");
  check(self.call([held] { return (held->value.*kCall)(); }));
}

nb::dict report_of_stream(const StreamHandle& self) {
  const StreamReport report = self.value("report").report();
  nb::dict made;
  made["buffers"] = report.buffers;
  made["bytes"] = report.bytes;
  made["requests"] = report.requests;
  made["compute_s"] = report.compute_s;
  made["write_s"] = report.write_s;
  made["producer_wait_s"] = report.producer_wait_s;
  made["elapsed_s"] = report.elapsed_s;
  made["model_s"] = report.model_s;
  made["efficiency"] = report.efficiency;
  made["copied_bytes"] = report.copied_bytes;
  return made;
}

void leave(StreamHandle& self, const nb::args& raised) {
  if (!self.is_open()) return;
  if (raised[0].is_none()) return self.close();
  self.value("cancel").cancel();
  self.drop();
}

void bind_buffer_and_file(nb::module_& module) {
  nb::class_<StreamBuffer, ExportedMemory>(
      module, "OutputBuffer", "A buffer of a stream to fill: numpy.asarray(buffer) uses it.")
      .def(
          "release", [](StreamBuffer& self) { self.take("release").release(); },
          "Returns the buffer unwritten.");
  nb::class_<FileHandle>(module, "OutputFile", "A file of a stream.")
      .def_prop_ro("path", [](const FileHandle& self) { return self.value("path").path(); })
      .def_prop_ro(
          "reason", [](const FileHandle& self) { return self.value("plan").plan().reason; },
          "How the file is written, and why.")
      .def("drain", &file_call<&OutputFile::drain>, "As OutputStream.drain(), for this file.")
      .def("sync", &file_call<&OutputFile::sync>, "Makes what was written to this file durable.")
      .def("publish", &file_call<&OutputFile::publish>,
           "sync(), then gives a file created with publish=True its name.");
}

}  // namespace

nb::object create_output_stream(RuntimeState& state, const nb::kwargs& given) {
  Options options("create_output_stream", given);
  StreamPlan plan;
  options.take_name("access", plan.access, {Access::kBuffered, Access::kDirect});
  options.take_size("buffer_bytes", plan.buffer_bytes);
  options.take("buffers", plan.buffers);
  options.take_size("request_bytes", plan.tuning.request_bytes);
  options.take("queue_depth", plan.tuning.queue_depth);
  options.take_size("in_flight_bytes", plan.tuning.in_flight_bytes);
  options.check_all_taken();
  const RuntimePointer runtime = state.runtime("create_output_stream");
  auto created =
      state.context()->call([runtime, plan] { return runtime->create_output_stream(plan); });
  auto stream = make_handle<StreamHandle>(state.context(), runtime, value_of(std::move(created)));
  return nb::cast(stream);
}

void bind_streams(nb::module_& module) {
  bind_buffer_and_file(module);
  nb::class_<StreamHandle>(
      module, "OutputStream",
      "Writes files behind the computation. The first error is permanent: every later call raises "
      "it. At its end, a `with` block drains the stream, or cancels it if an exception leaves the "
      "block. Used from any thread.")
      .def("create", &create_file, nb::arg("path"), nb::arg("options"),
           nb::sig("def create(self, path: Path, "
                   "**options: typing.Unpack[forebay.options.FileOptions]) -> OutputFile"),
           "Creates a file.")
      .def("write", &write, nb::arg("file"), nb::arg("offset"), nb::arg("data"),
           nb::sig("def write(self, file: OutputFile, offset: int, data: typing.Any) -> None"),
           "Copies data through buffers of the stream. Blocks while none is free.")
      .def("acquire", &acquire, nb::sig("def acquire(self) -> Future[OutputBuffer]"),
           "Requests a buffer to fill.")
      .def("submit", &submit, nb::arg("buffer"), nb::arg("file"), nb::arg("range"),
           nb::sig("def submit(self, buffer: OutputBuffer, file: OutputFile, offset: int, "
                   "size: int | None = None) -> None"),
           "Writes the first `size` bytes of a buffer, by default all, at `offset`. Returns at "
           "once. Raises BufferError while an array uses the buffer.")
      .def("drain", &stream_call<&OutputStream::drain>, "Waits until all submissions are written.")
      .def("sync", &stream_call<&OutputStream::sync>, "drain(), then makes it all durable.")
      .def(
          "cancel", [](const StreamHandle& self) { self.value("cancel").cancel(); },
          "Cancels the stream: every wait and every later call raises CancelledError.")
      .def_prop_ro("report", &report_of_stream, "Totals of the stream; times in seconds.")
      .def("close", &StreamHandle::close, "Drains the stream and ends it.")
      .def("__enter__", &identity, nb::sig("def __enter__(self) -> typing.Self"))
      .def("__exit__", &leave);
}

}  // namespace forebay::python
