// SPDX-License-Identifier: Apache-2.0
// The gain model's result for one pipeline, as a JSON document: the result, the same with other
// buffers and devices, and curves for a figure. Its keys are those of docs/guides/gain.md.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>

#include <nlohmann/json.hpp>

#include "command/progress.hpp"
#include "model/gain.hpp"
#include "model/jitter_simulation.hpp"

namespace forebay::model_tool {

enum class Curves : std::uint8_t { kNone, kInclude };

struct GainQuery {
  model::Pipeline pipeline{.count = 1000};
  model::Jitter jitter;  ///< without jitter, formulas are used; otherwise runs are simulated
  Curves curves = Curves::kNone;

  friend bool operator==(const GainQuery&, const GainQuery&) = default;
};

/// The document, or the reason why the model has no result. With jitter and curves it takes
/// seconds. kCancelled by `progress`, which is called with jitter only.
Result<nlohmann::json> describe_gain(const GainQuery& query,
                                     const command::ProgressSink& progress = {});

}  // namespace forebay::model_tool
