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

AttributeValue value_of_python(nb::handle value) {
  std::string text;
  if (nb::try_cast(value, text)) return text;
  std::vector<std::string> texts;
  const bool is_list = nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value);
  if (is_list && nb::len(value) > 0 && nb::try_cast(value, texts)) return texts;
  const nb::object array =
      nb::module_::import_("numpy").attr("asarray")(value, nb::arg("order") = "C");
  const ForeignMemory memory("set an attribute", array, Need::kRead);
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
  for (const auto [name, value] : values)
    check(set(nb::cast<std::string>(name), value_of_python(value)));
}

}  // namespace forebay::python
