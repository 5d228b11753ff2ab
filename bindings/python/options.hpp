// SPDX-License-Identifier: Apache-2.0
// Options: the keyword arguments of a call, taken by name into members of plain structs.
#pragma once

#include <forebay/range.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "bindings/python/failure.hpp"

namespace forebay::python {

class Options {
 public:
  Options(const char* call, const nb::kwargs& given) : call_(call), rest_(nb::dict(given)) {}

  /// Stores the option, unless it is absent or None. Raises TypeError for another type.
  template <class T>
  void take(const char* name, T& into) {
    const nb::object value = pop(name);
    if (!value.is_none()) convert(name, value, into);
  }
  template <class T>
  void take(const char* name, std::optional<T>& into) {
    const nb::object value = pop(name);
    if (!value.is_none()) convert(name, value, into.emplace());
  }
  /// A size in bytes: a number, or a text such as "64 MiB".
  void take_size(const char* name, std::uint64_t& into) {
    const nb::object value = pop(name);
    if (value.is_none()) return;
    std::string text;
    if (!nb::try_cast(value, text)) return convert(name, value, into);
    into = value_of(parse_size(text));
  }
  /// One of `values`, by its name_of().
  template <class E>
  void take_name(const char* name, E& into, std::initializer_list<E> values) {
    std::optional<std::string> text;
    take(name, text);
    if (!text) return;
    std::string known;
    for (const E value : values) {
      if (name_of(value) == *text) return void(into = value);
      known += (known.empty() ? "" : ", ") + std::string(name_of(value));
    }
    refuse(call_, std::string(name) + " is '" + *text + "'; it is one of " + known);
  }
  template <class E>
  void take_name(const char* name, std::optional<E>& into, std::initializer_list<E> values) {
    if (rest_.contains(name) && !nb::borrow<nb::object>(rest_[name]).is_none())
      take_name(name, into.emplace(), values);
  }
  nb::object pop(const char* name) { return nb::borrow(rest_).attr("pop")(name, nb::none()); }
  /// Raises TypeError for options that no call has taken.
  void check_all_taken() const {
    for (const auto [name, value] : rest_)
      fail(nb::str(name).c_str(), "is no option of this call");
  }

 private:
  template <class T>
  void convert(const char* name, const nb::object& value, T& into) const {
    if (!nb::try_cast(value, into)) fail(name, "has a value of another type or out of range");
  }
  [[noreturn]] void fail(const char* name, const char* what) const {
    const std::string text = std::string(call_) + "(): '" + name + "' " + what;
    throw nb::type_error(text.c_str());
  }

  const char* call_;
  nb::dict rest_;
};

}  // namespace forebay::python
