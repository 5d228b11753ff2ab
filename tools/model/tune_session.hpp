// SPDX-License-Identifier: Apache-2.0
// The protocol of `forebay-model tune`: a program proposes candidates line by line, and its caller
// measures them. Each line is one JSON object.
#pragma once

#include <forebay/error.hpp>

#include <iosfwd>

namespace forebay::model_tool {

/// Reads {"candidates":[{"features":[...],"predicted_s":s}, ...]} with optional "seed". Then writes
/// {"candidate":i,"best":j,"phase":"start|search|confirm|use"} and reads {"seconds":s} or
/// {"failed":true}, repeatedly. After {"end":true} or the end of the input writes
/// {"best":j,"noise":x,"why":"..."}. Fails with kInvalidArgument, naming the line. Blocks while it
/// reads.
Status tune(std::istream& input, std::ostream& output);

}  // namespace forebay::model_tool
