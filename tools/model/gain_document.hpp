// SPDX-License-Identifier: Apache-2.0
// What the gain model says of one pipeline, as a JSON document: the answer, the same with other
// buffers and devices, and curves for a picture. Its keys are those of docs/guides/gain.md.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>

#include <nlohmann/json.hpp>

#include "model/gain.hpp"
#include "model/jittered_pipeline.hpp"

namespace forebay::model_tool {

enum class Curves : std::uint8_t { kNone, kTell };

struct GainQuestion {
  model::Pipeline pipeline{.count = 1000};
  model::Jitter jitter;  ///< where it is 0, formulas answer; else runs are played
  Curves curves = Curves::kNone;

  friend bool operator==(const GainQuestion&, const GainQuestion&) = default;
};

/// The document, or why the model has no answer. With jitter and curves it takes seconds.
Result<nlohmann::json> describe_gain(const GainQuestion& question);

}  // namespace forebay::model_tool
