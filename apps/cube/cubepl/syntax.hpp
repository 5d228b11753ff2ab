// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a script: nodes in one array, children by index. What a name stands for is
// filled in when the script is compiled; until then the tree says only what was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace forebay::cubepl {

using NodeId = std::uint32_t;

/// Parentheses and blocks within each other. Bounds the stack of the parser.
inline constexpr std::uint32_t kNestingMax = 100;
/// Nodes on one way down a tree: a chain of 250 additions is one. Bounds the stack of a run.
inline constexpr std::uint32_t kDepthMax = 250;

enum class Op : std::uint8_t {
  // Values: number, or text.
  kNumber,
  kText,
  kVariable,        ///< text is the name; the child, if there is one, the index
  kMetric,          ///< text is the name; reach and flavour
  kMetricProperty,  ///< text is the metric's name, property what is asked for
  kArgument1,
  kArgument2,
  kSizeOf,   ///< text is a name
  kDefined,  ///< text is a name
  kBlock,    ///< children are statements and, last, the result
  // Of two children.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kPower,
  kMinimum,
  kMaximum,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kXor,
  kTextEqual,
  kTextEqualAnyCase,
  // Of one child.
  kMatches,  ///< text is the pattern
  kNot,
  kNegate,
  kAbsolute,
  kSquareRoot,
  kExponential,
  kLogarithm,
  kSine,
  kCosine,
  kTangent,
  kArcSine,
  kArcCosine,
  kArcTangent,
  kFloor,
  kCeiling,
  kSign,
  kPositive,
  kNegative,
  kLowerCase,
  kUpperCase,
  kEnvironment,
  // Statements.
  kAssign,   ///< text is the name; children are the value and, if there is one, the index
  kIf,       ///< children are condition, body, condition, body, ..., and perhaps the last body
  kWhile,    ///< children are condition and body
  kBody,     ///< children are statements
  kGlobal,   ///< text is a name
  kLocal,    ///< text is a name
  kProperty  ///< text is the metric's name, property what is set to what the child says
};

/// Of what a metric's value is asked.
enum class Reach : std::uint8_t {
  kContext,       ///< the location being computed
  kAllLocations,  ///< all locations of the call path
  kAllOfAll,      ///< all locations of all call paths
};

/// `kSame` is that of the value being computed.
enum class Flavour : std::uint8_t { kExclusive, kInclusive, kSame };

/// What a variable's name stands for.
enum class Home : std::uint8_t {
  kNothing,  ///< a reserved name that does not exist: without a value
  kLocal,
  kGlobal,
  kFact,         ///< about the profile
  kCalculation,  ///< about the value being computed
};

struct Node {
  Op op = Op::kNumber;
  std::size_t offset = 0;  ///< in the script, for errors
  double number = 0;
  std::string text;
  std::string property;
  std::vector<NodeId> children;
  Reach reach = Reach::kContext;
  Flavour flavour = Flavour::kSame;

  // Known once it is in a tree:
  std::uint32_t depth = 1;  ///< nodes on the longest way down, this one included
  bool has_block = false;   ///< there are statements in it

  // Known once it is compiled:
  Home home = Home::kNothing;
  std::uint32_t slot = 0;  ///< of the variable, fact, metric or pattern
};

/// Nodes and the one that all others hang from. Without nodes it is an empty script.
struct Tree {
  std::vector<Node> nodes;
  NodeId root = 0;

  bool empty() const noexcept { return nodes.empty(); }
  const Node& operator[](NodeId id) const { return nodes[id]; }
};

}  // namespace forebay::cubepl
