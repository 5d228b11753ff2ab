// SPDX-License-Identifier: Apache-2.0
// The Python classes DatasetReader, StepReader and Field.
#include <nanobind/stl/chrono.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/python/attributes.hpp"
#include "bindings/python/module.hpp"
#include "bindings/python/options.hpp"
#include "bindings/python/request.hpp"

namespace forebay::python {

namespace {

using ReaderHandle = Handle<DatasetReader>;
using StepHandle = Handle<StepReader>;

/// The elements that a read covers, as its options state.
struct Selection {
  bool is_global = false;  // a box of a global array instead of parts
  std::vector<Part> parts;
  std::optional<std::uint64_t> first_element;
  std::optional<std::uint64_t> elements;
  Shape start;
  Shape count;
  nb::object fill;

  bool has_range() const noexcept { return first_element || elements; }
  /// True for a box and for one whole part: strided memory can hold them.
  bool has_shape() const noexcept { return is_global || (parts.size() == 1 && !has_range()); }
};

/// The object of the Python class Field.
struct FieldObject {
  std::shared_ptr<StepHandle> step;
  FieldInfo info;

  bool is_global() const { return info.kind == FieldKind::kGlobal; }
};

void refuse_options(Options& options,
                    std::initializer_list<const char*> names,
                    const std::string& reason) {
  for (const char* const name : names)
    if (!options.pop(name).is_none())
      throw nb::type_error((std::string(name) + "= does not fit: " + reason).c_str());
}

Selection select_parts(Options& options) {
  Selection made{.fill = nb::none()};
  std::optional<std::uint64_t> part;
  std::optional<std::vector<std::uint64_t>> parts;
  options.take("part", part);
  options.take("parts", parts);
  options.take("first_element", made.first_element);
  options.take("elements", made.elements);
  refuse_options(options, {"start", "count", "fill"},
                 "this field has numbered parts: read part=, or parts=");
  if (part.has_value() == parts.has_value())
    throw nb::type_error("this field has numbered parts: read either part= or parts=");
  if (parts && made.has_range()) throw nb::type_error("first_element= and elements= need part=");
  for (const std::uint64_t number : part ? std::vector{*part} : *parts)
    made.parts.push_back(Part{number});
  return made;
}

Selection select_box(const Shape& shape, Options& options) {
  refuse_options(options, {"part", "parts", "first_element", "elements"},
                 "a global array is read by start= and count=");
  Selection made{.is_global = true, .start = Shape(shape.size(), 0), .fill = options.pop("fill")};
  options.take("start", made.start);
  std::optional<Shape> count;
  options.take("count", count);
  if (count) {
    made.count = *count;
    return made;
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::uint64_t first = d < made.start.size() ? made.start[d] : 0;
    made.count.push_back(shape[d] - std::min(first, shape[d]));
  }
  return made;
}

Selection selection_of(const FieldObject& self, Options& options) {
  return self.is_global() ? select_box(self.info.shape, options) : select_parts(options);
}

/// Shape of the array that read() returns: of one part, else one dimension of all elements.
Shape result_shape(const FieldObject& self, const Selection& selection) {
  if (self.is_global()) return selection.count;
  const StepReader& step = self.step->value("read");
  if (selection.has_range()) {
    const Part part = selection.parts.at(0);
    const std::uint64_t all = value_of(step.element_count(self.info.name, part));
    const std::uint64_t first = std::min(selection.first_element.value_or(0), all);
    return {selection.elements.value_or(all - first)};
  }
  if (selection.parts.size() == 1) return value_of(step.shape(self.info.name, selection.parts[0]));
  Shape shape = {0};
  for (const std::uint64_t one : value_of(step.element_count(self.info.name, selection.parts)))
    shape[0] += one;
  return shape;
}

/// Permits the shape of what is selected, and one dimension. Parts that are read together have no
/// shape. C++ checks the number of elements.
void check_shape(const FieldObject& self, const Selection& selection, const Shape& shape) {
  if (shape.size() <= 1 || !selection.has_shape() || shape == result_shape(self, selection)) return;
  refuse("read",
         "the array has another shape than the selection; reshape it, or pass an array of "
         "one dimension");
}

template <class Value>
Value fill_value(const nb::object& fill, ElementType type) {
  const nb::object array = nb::module_::import_("numpy").attr("full")(1, fill, numpy_name(type));
  return ForeignMemory("read", array, Need::kRead).as<Value>()[0];
}

Future<ByteCount> start_read(const FieldObject& self,
                             const StepReader& step,
                             const Selection& selection,
                             const ForeignMemory& into) {
  return with_type(into.type(), [&](auto example) -> Future<ByteCount> {
    using Value = decltype(example);
    const std::string& field = self.info.name;
    const std::span<Value> values = into.as<Value>();
    if (self.is_global()) {
      const Subarray box{.shape = {}, .start = selection.start, .count = selection.count};
      if (selection.fill.is_none()) return step.read(field, box, values, into.layout());
      const auto fill = fill_value<Value>(selection.fill, into.type());
      return step.read(field, box, values, into.layout(), fill);
    }
    if (selection.has_shape()) return step.read(field, selection.parts[0], values, into.layout());
    if (selection.has_range())
      return step.read(field, selection.parts.at(0), selection.first_element.value_or(0), values);
    return step.read(field, std::span<const Part>(selection.parts), values);
  });
}

std::shared_ptr<Request> read_with(const FieldObject& self,
                                   const Selection& selection,
                                   const nb::object& into,
                                   nb::object result) {
  const auto live = self.step->live("read");
  const auto elements = selection.has_shape() ? Elements::kStrided : Elements::kContiguous;
  auto memory = std::make_shared<ForeignMemory>("read", into, Need::kWrite, elements);
  if (self.info.type == ElementType::kBytes && memory->type() == ElementType::kUint8)
    memory->reinterpret_as(ElementType::kBytes);
  if (memory->type() != self.info.type && memory->type() != ElementType::kBytes)
    refuse("read", "field " + self.info.name + " has elements of the type " +
                       numpy_name(self.info.type) + ", the array " + numpy_name(memory->type()) +
                       "; pass an array of the field's dtype, or a bytearray");
  check_shape(self, selection, memory->shape());
  auto future = start_read(self, live->value, selection, *memory);
  return make_request(live->runtime, std::move(memory), std::move(future),
                      [result = std::move(result)](ByteCount count) {
                        return result.is_valid() ? result : nb::object(nb::int_(count));
                      });
}

std::shared_ptr<Request> read_field(const FieldObject& self, const nb::kwargs& given) {
  Options options("read", given);
  const Selection selection = selection_of(self, options);
  options.check_all_taken();
  const nb::object shape = nb::tuple(nb::cast(result_shape(self, selection)));
  const nb::object array =
      nb::module_::import_("numpy").attr("empty")(shape, numpy_name(self.info.type));
  return read_with(self, selection, array, array);
}

std::shared_ptr<Request> read_field_into(const FieldObject& self,
                                         const nb::object& into,
                                         const nb::kwargs& given) {
  Options options("readinto", given);
  const Selection selection = selection_of(self, options);
  options.check_all_taken();
  return read_with(self, selection, into, {});
}

/// Adds one dimension of an index to a selection. Returns true if the result keeps the dimension.
bool select(const nb::object& index, std::uint64_t extent, Selection& selection) {
  const auto size = static_cast<Py_ssize_t>(extent);
  if (PySlice_Check(index.ptr())) {
    Py_ssize_t start = 0;
    Py_ssize_t stop = 0;
    Py_ssize_t step = 0;
    if (PySlice_Unpack(index.ptr(), &start, &stop, &step) != 0) throw nb::python_error();
    if (step != 1) refuse("read", "a slice has a step; read it all and slice the array");
    selection.count.push_back(
        static_cast<std::uint64_t>(PySlice_AdjustIndices(size, &start, &stop, step)));
    selection.start.push_back(static_cast<std::uint64_t>(start));
    return true;
  }
  Py_ssize_t at = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
  if (at == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  if (at < 0) at += size;
  if (at < 0 || at >= size) {
    const std::string text = "index out of range for a dimension of " + std::to_string(extent);
    throw nb::index_error(text.c_str());
  }
  selection.start.push_back(static_cast<std::uint64_t>(at));
  selection.count.push_back(1);
  return false;
}

nb::object get_item(const FieldObject& self, const nb::object& key) {
  if (!self.is_global()) throw nb::type_error("this field has parts: field.read(part=...)");
  const nb::tuple keys = nb::isinstance<nb::tuple>(key) ? nb::tuple(key) : nb::make_tuple(key);
  const std::size_t dimensions = self.info.shape.size();
  const auto is_ellipsis = [](nb::handle one) { return one.ptr() == Py_Ellipsis; };
  const auto ellipses =
      static_cast<std::size_t>(std::count_if(keys.begin(), keys.end(), is_ellipsis));
  if (keys.size() - ellipses > dimensions || ellipses > 1)
    throw nb::index_error("more indexes than dimensions");
  const nb::object all = nb::slice(nb::none(), nb::none(), nb::none());
  Selection selection{.is_global = true, .fill = nb::none()};
  nb::list kept;
  const auto add = [&](const nb::object& index) {
    const std::uint64_t extent = self.info.shape[selection.start.size()];
    if (select(index, extent, selection)) kept.append(selection.count.back());
  };
  for (const nb::handle one : keys) {
    if (!is_ellipsis(one)) {
      add(nb::borrow(one));
      continue;
    }
    for (std::size_t filled = keys.size() - 1; filled < dimensions; ++filled)
      add(all);
  }
  while (selection.start.size() < dimensions)
    add(all);
  const nb::object array = nb::module_::import_("numpy").attr("empty")(
      nb::tuple(nb::cast(selection.count)), numpy_name(self.info.type));
  const nb::object read = read_with(self, selection, array, array)->result(std::nullopt);
  return read.attr("reshape")(nb::tuple(kept));
}

/// For numpy.asarray(field), which would otherwise make an array of one object.
nb::object to_array(const FieldObject& self, const nb::object& type, const nb::object& copy) {
  if (copy.is(nb::bool_(false)))
    throw nb::value_error("an array of a field is a copy of stored bytes");
  const nb::object array = get_item(self, nb::ellipsis());
  return type.is_none() ? array : array.attr("astype")(type, nb::arg("copy") = false);
}

std::vector<std::uint64_t> numbers_of(const std::vector<Part>& parts) {
  std::vector<std::uint64_t> numbers;
  for (const Part part : parts)
    numbers.push_back(part.number);
  return numbers;
}

nb::list exceptions_of(std::span<const Error> errors) {
  nb::list made;
  for (const Error& error : errors)
    made.append(to_python(error));
  return made;
}

FieldObject find_field(const std::shared_ptr<StepHandle>& self, const std::string& name) {
  const StepReader& step = self->value("find");
  const FieldInfo* const info = step.find(name);
  if (info != nullptr) return {self, *info};
  // Its Error has the path, and the fields of the step or the damage.
  throw Failure(step.parts(name).error());
}

nb::list field_names(const StepHandle& self) {
  nb::list names;
  for (const FieldInfo& info : self.value("fields").fields())
    names.append(info.name);
  return names;
}

std::shared_ptr<StepHandle> open_step(const ReaderHandle& self, const nb::object& given) {
  const auto index = nb::steal<nb::object>(PyNumber_Index(given.ptr()));  // int and NumPy's
  if (!index.is_valid()) throw nb::python_error();
  std::uint64_t number = 0;
  if (!nb::try_cast(index, number))
    throw Failure(Error({.kind = ErrorClass::kNotFound,
                         .operation = "open a step",
                         .path = self.value("open_step").path(),
                         .cause = "there is no step " + std::string(nb::str(given).c_str()) +
                                  "; max(dataset) is the newest, list(dataset) has all"}));
  const auto held = self.live("open_step");
  StepReader step = value_of(self.call([held, number] { return held->value.open_step(number); }));
  return make_handle<StepHandle>(self.context(), held->runtime, std::move(step));
}

std::vector<std::uint64_t> steps_of(const ReaderHandle& self) {
  const auto steps = self.value("steps").steps();
  return {steps.begin(), steps.end()};
}

nb::dict attributes_of_dataset(const ReaderHandle& self) {
  const auto held = self.live("attrs");
  return attributes_of(value_of(self.call([held] { return held->value.attributes(); })));
}

void bind_field(nb::module_& module) {
  nb::class_<FieldObject>(
      module, "Field",
      "A field of a step. A global array is read by field[2:4, ...], which waits; or by read(), "
      "which returns a future.")
      .def_prop_ro("name", [](const FieldObject& self) { return self.info.name; })
      .def_prop_ro(
          "dtype", [](const FieldObject& self) { return numpy_name(self.info.type); },
          "Name of the NumPy type of its elements.")
      .def_prop_ro(
          "kind", [](const FieldObject& self) { return name_of(self.info.kind).data(); },
          "'parts' or 'global'.")
      .def_prop_ro(
          "shape", [](const FieldObject& self) { return nb::tuple(nb::cast(self.info.shape)); },
          "Shape of the global array; () for parts.")
      .def_prop_ro("ndim", [](const FieldObject& self) { return self.info.dimensions; })
      .def_prop_ro(
          "blocks", [](const FieldObject& self) { return self.info.blocks; },
          "Number of parts, or of blocks of the global array.")
      .def_prop_ro(
          "attrs", [](const FieldObject& self) { return attributes_of(self.info.attributes); },
          "Attributes of the field.")
      .def_prop_ro("nbytes", [](const FieldObject& self) { return self.info.bytes; })
      .def_prop_ro("stored_bytes", [](const FieldObject& self) { return self.info.stored_bytes; })
      .def_prop_ro(
          "parts",
          [](const FieldObject& self) {
            return numbers_of(value_of(self.step->value("parts").parts(self.info.name)));
          },
          "Numbers of the parts, in increasing order.")
      .def(
          "parts_of_rank",
          [](const FieldObject& self, std::uint32_t rank, std::uint32_t ranks) {
            const StepReader& step = self.step->value("parts");
            return numbers_of(value_of(step.parts_of_rank(self.info.name, rank, ranks)));
          },
          nb::arg("rank"), nb::arg("ranks"), "The share of a rank if all parts are split evenly.")
      .def(
          "part_shape",
          [](const FieldObject& self, std::uint64_t part) {
            const StepReader& step = self.step->value("shape");
            return nb::tuple(nb::cast(value_of(step.shape(self.info.name, Part{part}))));
          },
          nb::arg("part"))
      .def("read", &read_field, nb::arg("options"),
           nb::sig("def read(self, **options: typing.Unpack[forebay.options.ReadOptions]) "
                   "-> Future[numpy.ndarray]"),
           "Reads a part, several parts one after the other, or a box of the global array, into a "
           "new array.")
      .def("readinto", &read_field_into, nb::arg("into"), nb::arg("options"),
           nb::sig("def readinto(self, into: Writable, "
                   "**options: typing.Unpack[forebay.options.ReadOptions]) -> Future[int]"),
           "The same into a contiguous array of the field's dtype.")
      .def("__getitem__", &get_item, nb::arg("key"),
           nb::sig("def __getitem__(self, key: typing.Any) -> numpy.ndarray"))
      .def("__array__", &to_array, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
           nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> "
                   "numpy.ndarray"),
           "The whole global array, for numpy.asarray().");
}

}  // namespace

nb::object open_dataset(RuntimeState& state, const nb::object& path, const nb::kwargs& given) {
  Options options("open_dataset", given);
  DatasetReadOptions chosen;
  bool is_verified = true;
  options.take("verify", is_verified);
  if (!is_verified) chosen.verification = Verification::kOff;
  options.take("concurrent_readers_max", chosen.concurrent_readers_max);
  options.check_all_taken();
  const RuntimePointer runtime = state.runtime("open_dataset");
  auto opened = state.context()->call(
      [runtime, name = path_of(path), chosen] { return runtime->open_dataset(name, chosen); });
  auto reader = make_handle<ReaderHandle>(state.context(), runtime, value_of(std::move(opened)));
  return nb::cast(reader);
}

void bind_readers(nb::module_& module) {
  bind_field(module);
  nb::class_<StepHandle>(module, "StepReader", "An open step: a mapping from names to fields.")
      .def_prop_ro("number", [](const StepHandle& self) { return self.value("number").number(); })
      .def_prop_ro("begin_time",
                   [](const StepHandle& self) { return self.value("begin_time").begin_time(); })
      .def_prop_ro(
          "errors",
          [](const StepHandle& self) { return exceptions_of(self.value("errors").errors()); },
          "Damage of the step, as far as its tables show.")
      .def_prop_ro(
          "attrs",
          [](const StepHandle& self) { return attributes_of(self.value("attrs").attributes()); },
          "Attributes of the step.")
      .def("keys", &field_names, "Names of all fields, sorted.")
      .def("__getitem__", &find_field, nb::arg("name"))
      .def("__iter__", [](const StepHandle& self) { return nb::iter(field_names(self)); })
      .def("__len__", [](const StepHandle& self) { return self.value("fields").fields().size(); })
      .def("__contains__",
           [](const StepHandle& self, const std::string& name) {
             return self.value("find").find(name) != nullptr;
           })
      .def("close", &StepHandle::close)
      .def("__enter__", &identity, nb::sig("def __enter__(self) -> typing.Self"))
      .def("__exit__", [](StepHandle& self, const nb::args&) { self.close(); });
  nb::class_<ReaderHandle>(module, "DatasetReader",
                           "A dataset in the state in which it was opened: dataset[42] is a step.")
      .def_prop_ro("path", [](const ReaderHandle& self) { return self.value("path").path(); })
      .def_prop_ro("steps", &steps_of, "Step numbers in increasing order.")
      .def_prop_ro("newest_step",
                   [](const ReaderHandle& self) { return self.value("newest_step").newest_step(); })
      .def_prop_ro(
          "errors",
          [](const ReaderHandle& self) { return exceptions_of(self.value("errors").errors()); },
          "Damage of the list of steps: older steps may be missing.")
      .def_prop_ro("attrs", &attributes_of_dataset,
                   "Attributes of the dataset, of its newest step.")
      .def("open_step", &open_step, nb::arg("number"),
           nb::sig("def open_step(self, number: typing.SupportsIndex) -> StepReader"),
           "Opens the data files of a step and their indexes. Not collective.")
      .def("__getitem__", &open_step, nb::arg("number"),
           nb::sig("def __getitem__(self, number: typing.SupportsIndex) -> StepReader"))
      .def("__len__", [](const ReaderHandle& self) { return steps_of(self).size(); })
      .def("__iter__", [](const ReaderHandle& self) { return nb::iter(nb::cast(steps_of(self))); })
      .def("close", &ReaderHandle::close)
      .def("__enter__", &identity, nb::sig("def __enter__(self) -> typing.Self"))
      .def("__exit__", [](ReaderHandle& self, const nb::args&) { self.close(); });
}

}  // namespace forebay::python
