// SPDX-License-Identifier: Apache-2.0
// parse_seed_signature(): the notation of the slides, which state no grammar. The interpretation is
// that of docs/formats/signature.md#the-notation-of-the-seed.
#include <limits>
#include <utility>

#include "trace/signature.hpp"
#include "trace/signature_checks.hpp"
#include "trace/signature_scanner.hpp"

namespace forebay::trace {

namespace {

using Integer = std::int64_t;

/// `repetitions` accesses, each followed by a move of `stride` bytes.
struct Run {
  Integer stride = 0;
  Integer size = 0;
  Integer repetitions = 0;
};

/// A value that changes by `change` in each repetition.
struct Progression {
  Integer value = 0;
  Integer change = 0;
};

/// An element with a position of its own.
struct PlacedRun {
  Integer position = 0;
  Progression size;
  Progression repetitions;
};

/// The numbers of one signature. Either `runs` or `placed` is empty.
struct SeedPattern {
  Integer position = 0;
  Integer dimension = 0;
  std::vector<Run> runs;
  std::vector<PlacedRun> placed;
  Integer repetitions = 0;  ///< of the whole
};

/// sum += a * b. False if that overflows.
bool add_product(Integer& sum, Integer a, Integer b) {
  Integer product = 0;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(sum, product, &sum);
}

class SeedParser {
 public:
  SeedParser(std::string_view text, Integer initial_offset, Integer size_bytes)
      : scanner_(text), initial_offset_(initial_offset), size_bytes_(size_bytes) {}

  bool parse(SeedPattern& pattern) {
    if (!scanner_.expect("{") || !parse_position(pattern.position)) return false;
    if (!scanner_.expect(",") || !parse_integer(pattern.dimension)) return false;
    if (!scanner_.expect(",") || !scanner_.expect("(")) return false;
    const bool is_simple = pattern.dimension == 1;
    if (!(is_simple ? parse_simple(pattern) : parse_elements(pattern))) return false;
    return scanner_.expect("}") && (scanner_.is_end() || scanner_.fail("the end of the text"));
  }
  SignatureScanner& scanner() noexcept { return scanner_; }

 private:
  bool parse_position(Integer& position) {
    position = initial_offset_;
    if (scanner_.skip("INIT")) return true;
    return parse_integer(position);
  }

  /// "stride, size, repetitions), times". The comma, or comma and times, may be missing.
  bool parse_simple(SeedPattern& pattern) {
    if (!parse_run(pattern.runs.emplace_back()) || !scanner_.expect(")")) return false;
    pattern.repetitions = 1;
    if (!scanner_.skip(",") && !scanner_.is_number()) return true;
    return parse_integer(pattern.repetitions);
  }

  /// Elements and the repetitions after the first. The closing parenthesis is before or after the
  /// repetitions. It may be missing together with the brace of an element.
  bool parse_elements(SeedPattern& pattern) {
    Integer elements = 0;
    do {
      if (!parse_element(pattern)) return false;
      ++elements;
    } while (elements < pattern.dimension && scanner_.expect(","));
    if (elements != pattern.dimension) return scanner_.fail("as many elements as dimensions");
    const bool is_closed = scanner_.skip(")");
    if (!scanner_.expect(",") || !parse_integer(pattern.repetitions)) return false;
    return is_closed || scanner_.skip(")") || is_brace_missing_ || scanner_.expect(")");
  }

  bool parse_element(SeedPattern& pattern) {
    if (pattern.placed.empty() && scanner_.skip("["))
      return parse_run(pattern.runs.emplace_back()) && scanner_.expect("]");
    if (!scanner_.expect("{")) return false;
    if (pattern.placed.empty() && scanner_.skip("-"))
      return parse_continued(pattern.runs.emplace_back());
    return parse_placed(pattern.placed.emplace_back());
  }

  /// "stride, size, repetitions"
  bool parse_run(Run& run) {
    return parse_integer(run.stride) && scanner_.expect(",") && parse_integer(run.size) &&
           scanner_.expect(",") && parse_integer(run.repetitions);
  }

  /// ", 1, (stride, repetitions)}"
  bool parse_continued(Run& run) {
    run.size = size_bytes_;
    return expect_element_begin() && parse_integer(run.stride) && scanner_.expect(",") &&
           parse_integer(run.repetitions) && scanner_.expect(")") && scanner_.expect("}");
  }

  /// "position, 1, (size, repetitions)}", where size and repetitions may change.
  bool parse_placed(PlacedRun& run) {
    if (!parse_integer(run.position) || !expect_element_begin()) return false;
    if (!parse_progression(run.size) || !scanner_.expect(",")) return false;
    if (!parse_progression(run.repetitions) || !scanner_.expect(")")) return false;
    const bool is_growing = run.repetitions.change != 0;
    if (!is_growing) return scanner_.expect("}");
    is_brace_missing_ = !scanner_.skip("}");
    return true;
  }

  bool expect_element_begin() {
    return scanner_.expect(",") && scanner_.expect("1") && scanner_.expect(",") &&
           scanner_.expect("(");
  }

  /// A constant, or "{first, (change)}".
  bool parse_progression(Progression& progression) {
    if (!scanner_.skip("{")) return parse_integer(progression.value);
    return parse_integer(progression.value) && scanner_.expect(",") && scanner_.expect("(") &&
           parse_integer(progression.change) && scanner_.expect(")") && scanner_.expect("}");
  }

  bool parse_integer(Integer& number) {
    const bool is_negative = scanner_.skip("-");
    const std::size_t begin = scanner_.offset();
    const auto magnitude = scanner_.expect_number();
    if (!magnitude) return false;
    if (!std::in_range<Integer>(*magnitude))
      return scanner_.fail_at(begin, "expected a number up to 2^63 - 1");
    number = static_cast<Integer>(*magnitude);
    if (is_negative) number = -number;
    return true;
  }

  SignatureScanner scanner_;
  Integer initial_offset_;
  Integer size_bytes_;
  bool is_brace_missing_ = false;
};

/// The functions below return no value if numbers overflow, or do not have the form of a slide.
using Items = std::optional<std::vector<Item>>;

LoopItem loop_of(AffineNumber count, AccessItem access) {
  LoopItem loop{.count = count};
  loop.items.emplace_back(access);
  return loop;
}

/// A count that is one more than `number`.
std::optional<Integer> successor(Integer number) {
  if (number < 0 || number == std::numeric_limits<Integer>::max()) return std::nullopt;
  return number + 1;
}

/// {1024, 1, (4096, 1024, 99), 1}
Items simple_items(const SeedPattern& pattern) {
  const Run& run = pattern.runs.front();
  const auto count = successor(run.repetitions);
  if (!count || pattern.repetitions < 1) return std::nullopt;
  AccessItem access{{pattern.position}, {run.size}};
  const bool is_once = pattern.repetitions == 1;
  access.offset.factors[is_once ? 0 : 1] = run.stride;
  LoopItem loop = loop_of({.constant = *count}, access);
  if (is_once) return std::vector<Item>{loop};
  return std::vector<Item>{LoopItem{{.constant = pattern.repetitions}, {loop}}};
}

/// Of two runs, the second of which is one access of the same size, the accesses form one run.
std::vector<Run> merge_nested(std::vector<Run> runs) {
  if (runs.size() != 2 || runs[0].size != runs[1].size || runs[1].repetitions != 1) return runs;
  const auto merged = successor(runs[0].repetitions);
  if (!merged) return runs;
  runs[0].repetitions = *merged;
  runs.pop_back();
  return runs;
}

/// {4096, 2, ([2048, 1024, 1], [6144, 1024, 1]), 99}
Items strided_items(const SeedPattern& pattern) {
  const auto count = successor(pattern.repetitions);
  if (!count) return std::nullopt;
  Integer period = 0;
  for (const Run& run : pattern.runs)
    if (run.repetitions < 1 || !add_product(period, run.repetitions, run.stride))
      return std::nullopt;
  LoopItem outer{.count = {.constant = *count}};
  Integer begin = pattern.position;
  for (const Run& run : merge_nested(pattern.runs)) {
    outer.items.emplace_back(
        loop_of({run.repetitions}, {{begin, {period, run.stride}}, {run.size}}));
    if (!add_product(begin, run.repetitions, run.stride)) return std::nullopt;
  }
  return std::vector<Item>{outer};
}

/// True for a slab, the first slab before it, and a series that begins with the second one.
bool is_factorization(const std::vector<PlacedRun>& runs) {
  if (runs.size() != 3) return false;
  const auto is_single = [](const PlacedRun& run) {
    return run.size.change == 0 && run.repetitions.value == 1 && run.repetitions.change == 0;
  };
  Integer second_size = runs[1].size.value;
  return is_single(runs[0]) && is_single(runs[1]) && runs[1].position >= 0 &&
         runs[2].position >= 0 && add_product(second_size, 1, runs[2].size.change) &&
         second_size == runs[2].size.value;
}

/// The out-of-core LU factorization.
Items placed_items(const SeedPattern& pattern) {
  const auto& runs = pattern.placed;
  const auto count = successor(pattern.repetitions);
  if (!count || !is_factorization(runs)) return std::nullopt;
  const auto inner_count = successor(runs[2].repetitions.value);
  Integer slab = pattern.position;
  Integer first = pattern.position;
  if (!inner_count || !add_product(slab, 1, runs[0].position) ||
      !add_product(first, 1, runs[1].position))
    return std::nullopt;
  const Integer slab_bytes = runs[0].size.value;
  const AccessItem next{{slab, {slab_bytes}}, {slab_bytes}};
  const AccessItem before{{first, {0, runs[2].position - runs[1].position}},
                          {runs[1].size.value, {0, runs[2].size.change}}};
  LoopItem outer{.count = {.constant = *count}};
  outer.items.emplace_back(next);
  outer.items.emplace_back(loop_of({*inner_count, {runs[2].repetitions.change}}, before));
  return std::vector<Item>{outer};
}

Items items_of(const SeedPattern& pattern) {
  if (!pattern.placed.empty() && !pattern.runs.empty()) return std::nullopt;
  if (!pattern.placed.empty()) return placed_items(pattern);
  return pattern.dimension == 1 ? simple_items(pattern) : strided_items(pattern);
}

bool parse(SeedParser& parser, Signature& signature) {
  SeedPattern pattern;
  if (!parser.parse(pattern)) return false;
  Items items = items_of(pattern);
  if (!items) {
    return parser.scanner().fail_at(
        0, "expected numbers of one of the forms in docs/formats/signature.md");
  }
  signature.items = std::move(*items);
  const auto fault = find_fault(signature);
  return !fault || parser.scanner().fail_at(0, fault->cause);
}

tl::unexpected<Error> seed_failure(std::string cause) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "parse signature of the seed",
                  .cause = std::move(cause)});
}

}  // namespace

Result<Signature> parse_seed_signature(std::string_view text,
                                       std::uint64_t initial_offset,
                                       std::uint64_t size_bytes) {
  if (!std::in_range<Integer>(initial_offset) || !std::in_range<Integer>(size_bytes))
    return seed_failure("the initial offset or the size exceeds 2^63 - 1");
  SeedParser parser(text, static_cast<Integer>(initial_offset), static_cast<Integer>(size_bytes));
  Signature signature;
  if (!parse(parser, signature)) return seed_failure(parser.scanner().error());
  return signature;
}

}  // namespace forebay::trace
