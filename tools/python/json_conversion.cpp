// SPDX-License-Identifier: Apache-2.0
#include "tools/python/json_conversion.hpp"

#include <nanobind/stl/string.h>

namespace forebay::tools {

namespace {

using nlohmann::json;

json to_number(nb::handle value) {
  std::uint64_t positive = 0;
  if (nb::try_cast(value, positive)) return positive;
  std::int64_t number = 0;
  if (nb::try_cast(value, number)) return number;
  throw nb::type_error("an integer of a request has more than 64 bits");
}

}  // namespace

json to_json(nb::handle value) {
  if (value.is_none()) return nullptr;
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value)) return to_number(value);
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::isinstance<nb::dict>(value)) {
    json made = json::object();
    for (const auto [key, member] : nb::borrow<nb::dict>(value))
      made[nb::cast<std::string>(key)] = to_json(member);
    return made;
  }
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    json made = json::array();
    for (const nb::handle element : nb::borrow<nb::sequence>(value))
      made.push_back(to_json(element));
    return made;
  }
  const std::string text = std::string("a request cannot contain ") + Py_TYPE(value.ptr())->tp_name;
  throw nb::type_error(text.c_str());
}

}  // namespace forebay::tools
