// SPDX-License-Identifier: Apache-2.0
// Passes any text to the parser of hint files and checks its contract. The same function runs under
// libFuzzer and, with the corpus, in the ordinary tests.
#include <array>
#include <cstdio>
#include <cstdlib>

#include "push/hint_file.hpp"
#include "push/parametric_predictor.hpp"

namespace forebay::push {
namespace {

void check(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "broken contract: %s\n", text);
  std::abort();
}

/// Also predicts: no access may lead to undefined behavior.
void check_parametric(const std::shared_ptr<const ParametricSignature>& signature) {
  ParametricPredictor predictor(signature);
  std::array<Prediction, 8> next;
  for (std::uint64_t i = 0; i < 16; ++i) {
    predictor.observe({i * 4096 + i / 4 * 123, 1024});
    const std::size_t count = predictor.predict(next);
    for (const Prediction& one : std::span(next).first(count))
      check(is_predictable(one.offset, one.size), "a prediction is within the limits");
  }
}

void check_hint(std::span<const FileHint> hints, const FileHint& hint) {
  check((hint.signature == nullptr) != (hint.parametric == nullptr), "a hint has one signature");
  if (hint.signature != nullptr)
    check(trace::check_signature(*hint.signature).has_value(), "a signature is within the limits");
  else
    check_parametric(hint.parametric);
  check(hint.explained >= 0 && hint.explained <= 1, "a share is 0 to 1");
  check(!hints_for(hints, hint.file).empty(), "a path finds its own hint");
}

}  // namespace
}  // namespace forebay::push

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::push;
  const auto hints = parse_hints({reinterpret_cast<const char*>(data), size}, "fuzzed");
  if (!hints) {
    check(hints.error().kind() == forebay::ErrorClass::kInvalidArgument, "an error has its class");
    check(hints.error().cause().starts_with("line "), "an error names the line");
    return 0;
  }
  for (const FileHint& hint : *hints)
    check_hint(*hints, hint);
  return 0;
}
