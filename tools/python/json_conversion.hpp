// SPDX-License-Identifier: Apache-2.0
// Converts between documents of nlohmann::json and objects of Python, without text in between.
#pragma once

#include <cmath>
#include <string>

#include <nanobind/nanobind.h>
#include <nlohmann/json.hpp>

namespace nb = nanobind;

namespace forebay::tools {

/// Bytes that are not UTF-8, as in names of files, become replacement characters.
inline nb::object to_text(const std::string& text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

/// A dict, list, str, int, float, bool or None. Numbers that are not finite become None, as JSON
/// has none. Needs the GIL.
template <class Json>
nb::object to_python(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object: {
      nb::dict made;
      for (const auto& [key, member] : value.items())
        made[to_text(key)] = to_python(member);
      return made;
    }
    case Json::value_t::array: {
      nb::list made;
      for (const Json& element : value)
        made.append(to_python(element));
      return made;
    }
    case Json::value_t::string:
      return to_text(value.template get_ref<const std::string&>());
    case Json::value_t::boolean:
      return nb::bool_(value.template get<bool>());
    case Json::value_t::number_unsigned:
      return nb::int_(value.template get<std::uint64_t>());
    case Json::value_t::number_integer:
      return nb::int_(value.template get<std::int64_t>());
    case Json::value_t::number_float: {
      const auto number = value.template get<double>();
      return std::isfinite(number) ? nb::object(nb::float_(number)) : nb::none();
    }
    default:
      return nb::none();
  }
}

/// The document of an object that json.dumps() accepts. Raises TypeError for other objects, and for
/// integers of more than 64 bits. Needs the GIL.
nlohmann::json to_json(nb::handle value);

}  // namespace forebay::tools
