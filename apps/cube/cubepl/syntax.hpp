// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a script: nodes in one array, children by index. The parser stores only what
// is written; the compiler resolves names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace forebay::cubepl {

using NodeId = std::uint32_t;

/// Maximum nesting of parentheses and blocks. Bounds the stack of the parser.
inline constexpr std::uint32_t kNestingMax = 100;
/// Nodes on one path down a tree, such as a chain of 250 additions. Bounds the stack of a run.
inline constexpr std::uint32_t kDepthMax = 250;

enum class Op : std::uint8_t {
  // Values: number or text.
  kNumber,
  kText,
  kVariable,        ///< text is the name; the child, if any, is the index
  kMetric,          ///< text is the name; also scope and flavor
  kMetricProperty,  ///< text is the metric's name, property the requested property
  kArgument1,
  kArgument2,
  kSizeOf,   ///< text is a name
  kDefined,  ///< text is a name
  kBlock,    ///< children are statements and, last, the result
  // With two children.
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
  // With one child.
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
  kAssign,   ///< text is the name; children are the value and, if any, the index
  kIf,       ///< children are condition, body, condition, body, ..., and optionally the last body
  kWhile,    ///< children are condition and body
  kBody,     ///< children are statements
  kGlobal,   ///< text is a name
  kLocal,    ///< text is a name
  kProperty  ///< text is the metric's name; sets property to the child's value
};

/// The locations and call paths that a metric reference covers.
enum class ReferenceScope : std::uint8_t {
  kContext,       ///< the location being computed
  kAllLocations,  ///< all locations of the call path
  kAllCallPaths,  ///< all locations of all call paths
};

/// `kSame` is the flavor of the value being computed.
enum class Flavor : std::uint8_t { kExclusive, kInclusive, kSame };

/// The meaning of a variable's name.
enum class VariableKind : std::uint8_t {
  kUndefined,  ///< a reserved name that does not exist; without a value
  kLocal,
  kGlobal,
  kProfile,      ///< a property of the profile
  kCalculation,  ///< a property of the value being computed
};

struct Node {
  Op op = Op::kNumber;
  std::size_t offset = 0;  ///< in the script, for errors
  double number = 0;
  std::string text;
  std::string property;
  std::vector<NodeId> children;
  ReferenceScope scope = ReferenceScope::kContext;
  Flavor flavor = Flavor::kSame;

  // Set when the node is added to a tree:
  std::uint32_t depth = 1;  ///< nodes on the longest path down, including this one
  bool has_block = false;   ///< the node contains statements

  // Set by the compiler:
  VariableKind kind = VariableKind::kUndefined;
  std::uint32_t slot = 0;  ///< of the variable, metric or pattern
};

/// Nodes, and the root of the tree. An empty script has no nodes.
struct Tree {
  std::vector<Node> nodes;
  NodeId root = 0;

  bool empty() const noexcept { return nodes.empty(); }
  const Node& operator[](NodeId id) const { return nodes[id]; }
};

}  // namespace forebay::cubepl
