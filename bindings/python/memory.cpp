// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/memory.hpp"

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/python/gil_release.hpp"

namespace forebay::python {

namespace {

std::mutex deferred_mutex;

/// Never destroyed: Python ends before static objects.
std::vector<std::shared_ptr<void>>& deferred() {
  static auto* const objects = new std::vector<std::shared_ptr<void>>;
  return *objects;
}

struct TypeName {
  ElementType type;
  const char* format;  // of the buffer protocol
};
constexpr TypeName kFormats[] = {
    {ElementType::kInt8, "b"},        {ElementType::kInt16, "h"},   {ElementType::kInt32, "i"},
    {ElementType::kInt64, "q"},       {ElementType::kUint8, "B"},   {ElementType::kUint16, "H"},
    {ElementType::kUint32, "I"},      {ElementType::kUint64, "Q"},  {ElementType::kFloat16, "e"},
    {ElementType::kFloat32, "f"},     {ElementType::kFloat64, "d"}, {ElementType::kComplex64, "Zf"},
    {ElementType::kComplex128, "Zd"}, {ElementType::kBytes, "B"},
};

const char* format_of(ElementType type) {
  return kFormats[static_cast<std::size_t>(type) - kElementTypeMin].format;
}

ElementType integer_of(bool is_signed, Py_ssize_t size) {
  const auto first = is_signed ? ElementType::kInt8 : ElementType::kUint8;
  const int log2 = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
  return static_cast<ElementType>(static_cast<int>(first) + log2);
}

/// How to convert elements of a format that has no element type.
const char* conversion_of(std::string_view format) {
  if (format == "?") return "a bool array is stored as array.view('u1')";
  if (format == "g") return "convert to double precision: array.astype('f8')";
  if (format == "Zg") return "convert to double precision: array.astype('c16')";
  if (format == "O") return "convert objects to numbers: array.astype('f8')";
  if (format.starts_with("T{")) return "store each field of a record by itself: array['name']";
  if (format.ends_with('s')) return "a bytes array is stored as array.view('u1')";
  if (format.ends_with('w')) return "a text array is stored as numpy.char.encode(array).view('u1')";
  if (format.starts_with('>') || format.starts_with('!'))
    return "convert the array to this machine's byte order: "
           "array.astype(array.dtype.newbyteorder('='))";
  return "integers, floating-point and complex numbers have one";
}

/// Raises InvalidArgumentError for an object that exports no buffer of elements.
[[noreturn]] void refuse_object(const char* operation, nb::handle object, Need need) {
  if (PyUnicode_Check(object.ptr())) refuse(operation, "text has no elements; pass text.encode()");
  if (nb::hasattr(object, "dtype")) {
    const nb::object type = object.attr("dtype");
    refuse(operation, "elements of the type " + std::string(nb::str(type).c_str()) +
                          " have no element type; store a time as array.view('i8'), and its unit "
                          "as an attribute");
  }
  refuse(operation, "a '" + std::string(Py_TYPE(object.ptr())->tp_name) +
                        "' has no buffer of elements; pass " +
                        (need == Need::kWrite ? "an array that can be written"
                                              : "an array: numpy.asarray(values)"));
}

ElementType parse_format(const char* operation, std::string_view format, Py_ssize_t size) {
  std::string_view code = format;
  if (!code.empty() && std::string_view("@=<").find(code[0]) != std::string_view::npos)
    code.remove_prefix(1);
  if (code.size() == 1 && std::string_view("bhilq").find(code[0]) != std::string_view::npos)
    return integer_of(true, size);
  if (code.size() == 1 && std::string_view("BHILQ").find(code[0]) != std::string_view::npos)
    return integer_of(false, size);
  for (const TypeName& name : kFormats)
    if (code == name.format) return name.type;
  refuse(operation, "elements of the format '" + std::string(format) + "' have no element type; " +
                        conversion_of(code));
}

nb::object with_buffer(nb::handle object) {
  if (PyObject_CheckBuffer(object.ptr()) || !nb::hasattr(object, "__dlpack__"))
    return nb::borrow(object);
  return nb::module_::import_("numpy").attr("from_dlpack")(object);
}

}  // namespace

const char* numpy_name(ElementType type) noexcept {
  return type == ElementType::kBytes ? "uint8" : name_of(type).data();
}

ElementType parse_numpy_type(const char* operation, nb::handle dtype) {
  const nb::object parsed = nb::module_::import_("numpy").attr("dtype")(dtype);
  const std::string name = nb::str(parsed.attr("name")).c_str();
  if (!nb::cast<bool>(parsed.attr("isnative")))
    refuse(operation, "the type '" + std::string(nb::str(parsed).c_str()) +
                          "' has another byte order than this machine; pass '" + name + "'");
  const auto type = parse_element_type(name);
  if (!type)
    refuse(operation, "the type '" + name +
                          "' is no element type; integers, floating-point and complex numbers have "
                          "one, and bytes are 'uint8'");
  return *type;
}

void drop_with_gil(std::shared_ptr<void> object) {
  if (has_gil()) return;
  const std::lock_guard lock(deferred_mutex);
  deferred().push_back(std::move(object));
}

void drop_deferred() {
  std::vector<std::shared_ptr<void>> dropped;
  const std::lock_guard lock(deferred_mutex);
  dropped.swap(deferred());
}

ForeignMemory::ForeignMemory(const char* operation, nb::handle object, Need need, Elements elements)
    : buffer_(std::make_unique<Py_buffer>()) {
  drop_deferred();
  nb::object source = with_buffer(object);
  get_buffer(operation, source, need);
  const bool is_strided = elements == Elements::kStrided && !is_contiguous() && find_layout();
  if (need == Need::kRead && !is_strided && !is_contiguous()) {
    PyBuffer_Release(buffer_.get());
    source = nb::module_::import_("numpy").attr("ascontiguousarray")(source);
    get_buffer(operation, source, need);
  }
  try {
    if (need == Need::kWrite && buffer_->readonly != 0)
      refuse(operation, "the memory is read-only; pass an array that can be written");
    if (!is_strided && !is_contiguous())
      refuse(operation,
             elements == Elements::kStrided
                 ? "a stride of the array is negative or no multiple of its element size; read "
                   "into a contiguous array and assign it"
                 : "the array is not C-contiguous; read into a contiguous array and assign it");
    for (int d = 0; d < buffer_->ndim; ++d)
      shape_.push_back(static_cast<std::uint64_t>(buffer_->shape[d]));
    if (!PyBytes_Check(source.ptr()) && !PyByteArray_Check(source.ptr()))
      type_ = parse_format(operation, buffer_->format ? buffer_->format : "B", buffer_->itemsize);
  } catch (...) {
    PyBuffer_Release(buffer_.get());
    throw;
  }
}

void ForeignMemory::get_buffer(const char* operation, nb::handle source, Need need) {
  if (PyObject_GetBuffer(source.ptr(), buffer_.get(), PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    const PyObject* const raised = PyErr_Occurred();
    if (raised != PyExc_TypeError && raised != PyExc_ValueError) throw nb::python_error();
    PyErr_Clear();
    refuse_object(operation, source, need);
  }
  size_bytes_ = static_cast<std::size_t>(buffer_->len);
}

/// Sets the layout and returns true if there is one. The array has elements.
bool ForeignMemory::find_layout() {
  const Py_ssize_t item = buffer_->itemsize;
  Shape strides;
  std::size_t last = 0;
  for (int d = 0; d < buffer_->ndim; ++d) {
    const Py_ssize_t stride = buffer_->strides[d];
    if (item == 0 || stride < 0 || stride % item != 0) return false;
    strides.push_back(static_cast<std::uint64_t>(stride / item));
    last += static_cast<std::size_t>(buffer_->shape[d] - 1) * strides.back();
  }
  layout_.strides = std::move(strides);
  size_bytes_ = (last + 1) * static_cast<std::size_t>(item);
  return true;
}

ForeignMemory::~ForeignMemory() {
  std::shared_ptr<Py_buffer> buffer(buffer_.release(), [](Py_buffer* held) {
    PyBuffer_Release(held);
    delete held;
  });
  drop_with_gil(std::move(buffer));
}

void ExportedMemory::check_unused(const char* operation) const {
  if (exports_ == 0) return;
  const std::string cause = std::string(operation) + ": " + std::to_string(exports_) +
                            " arrays or memoryviews still use the memory; delete them first";
  throw nb::buffer_error(cause.c_str());
}

int ExportedMemory::export_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  auto* const memory = nb::inst_ptr<ExportedMemory>(self);
  view->obj = nullptr;
  try {
    const std::span<std::byte> bytes = memory->bytes();
    const Shape shape = memory->shape();
    const auto size = static_cast<Py_ssize_t>(bytes.size());
    if (PyBuffer_FillInfo(view, self, bytes.data(), size, memory->is_read_only(), flags) != 0)
      return -1;
    const auto item = static_cast<Py_ssize_t>(element_size(memory->type()));
    auto* const extents = new Py_ssize_t[2 * shape.size() + 1];
    Py_ssize_t stride = item;
    for (std::size_t d = shape.size(); d-- > 0;) {
      extents[d] = static_cast<Py_ssize_t>(shape[d]);
      extents[shape.size() + d] = stride;
      stride *= extents[d];
    }
    view->internal = extents;
    view->itemsize = item;
    view->ndim = static_cast<int>(shape.size());
    if ((flags & PyBUF_FORMAT) != 0) view->format = const_cast<char*>(format_of(memory->type()));
    if ((flags & PyBUF_ND) != 0) view->shape = extents;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) view->strides = extents + shape.size();
    ++memory->exports_;
    return 0;
  } catch (const Failure& failure) {
    set_python_error(failure.error);
  }
  return -1;
}

void ExportedMemory::end_export(PyObject* self, Py_buffer* view) noexcept {
  delete[] static_cast<Py_ssize_t*>(view->internal);
  --nb::inst_ptr<ExportedMemory>(self)->exports_;
}

void bind_memory(nb::module_& module) {
  hold_during_fork<deferred_mutex>();
  static PyType_Slot slots[] = {
      {Py_bf_getbuffer, reinterpret_cast<void*>(&ExportedMemory::export_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(&ExportedMemory::end_export)},
      {0, nullptr}};
  nb::class_<ExportedMemory>(
      module, "Memory", nb::type_slots(slots),
      "Memory of Forebay with the buffer protocol: numpy.asarray() and memoryview() use it without "
      "a copy, and keep it alive.")
      .def(
          "__len__", [](const ExportedMemory& memory) { return memory.bytes().size(); },
          "Size in bytes.")
      .def(
          "__dlpack__",
          [](nb::handle self, const nb::kwargs& arguments) {
            return nb::module_::import_("numpy").attr("asarray")(self).attr("__dlpack__")(
                **arguments);
          },
          "Exports the memory by DLPack, without a copy. Read-only memory needs a consumer of "
          "DLPack 1.0.")
      .def("__dlpack_device__", [](nb::handle /*self*/) { return nb::make_tuple(1, 0); });
}

}  // namespace forebay::python
