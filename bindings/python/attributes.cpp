// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/attributes.hpp"

#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/python/memory.hpp"

namespace forebay::python {

namespace {

nb::object value_to_python(const AttributeValue& value) {
  if (value.kind() == AttributeKind::kText) return nb::cast(std::string(value.text()));
  if (value.kind() == AttributeKind::kTexts)
    return nb::cast(std::vector<std::string>(value.texts().begin(), value.texts().end()));
  const auto bytes = value.bytes();
  const nb::bytes copied(bytes.data(), bytes.size());
  const nb::object array =
      nb::module_::import_("numpy").attr("frombuffer")(copied, numpy_name(value.type()));
  return array.attr("reshape")(nb::tuple(nb::cast(value.shape())))[nb::tuple()];
}

/// A C-contiguous array of numbers.
nb::object numbers_of(const char* operation, nb::handle value) {
  try {
    const nb::object array =
        nb::module_::import_("numpy").attr("asarray")(value, nb::arg("order") = "C");
    const std::string kind = nb::str(array.attr("dtype").attr("kind")).c_str();
    if (kind != "S" && kind != "U") return array;
  } catch (nb::python_error& raised) {
    if (!raised.matches(PyExc_ValueError)) throw;  // a nested list is no rectangle
  }
  refuse(operation,
         "the value is no text, list of texts, number or array of numbers; pass bytes as "
         "value.decode() or numpy.frombuffer(value, 'u1'), and an array of texts as a list");
}

AttributeValue value_of_python(const std::string& name, nb::handle value) {
  std::string text;
  if (nb::try_cast(value, text)) return text;
  std::vector<std::string> texts;
  const bool is_list = nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value);
  if (is_list && nb::len(value) > 0 && nb::try_cast(value, texts)) return texts;
  const std::string operation = "set the attribute " + name;
  const nb::object array = numbers_of(operation.c_str(), value);
  const ForeignMemory memory(operation.c_str(), array, Need::kRead);
  return {memory.type(), memory.shape(), memory.bytes()};
}

}  // namespace

nb::dict attributes_of(std::span<const Attribute> attributes) {
  nb::dict made;
  for (const Attribute& attribute : attributes)
    made[attribute.name.c_str()] = value_to_python(attribute.value);
  return made;
}

void set_attributes(
    const nb::dict& values,
    const std::function<Status(const std::string& name, const AttributeValue& value)>& set) {
  for (const auto [key, value] : values) {
    std::string name;
    if (!nb::try_cast(key, name))
      refuse("set an attribute", std::string(nb::repr(key).c_str()) +
                                     " is no name of an attribute; pass a text: str(name)");
    check(set(name, value_of_python(name, value)));
  }
}

}  // namespace forebay::python
