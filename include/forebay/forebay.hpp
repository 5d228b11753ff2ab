// SPDX-License-Identifier: Apache-2.0
// Everything a C++ program includes to use Forebay.
#pragma once

#include <forebay/access.hpp>
#include <forebay/buffer.hpp>
#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/future.hpp>
#include <forebay/istream.hpp>
#include <forebay/log.hpp>
#include <forebay/output_stream.hpp>
#include <forebay/part.hpp>
#include <forebay/placement.hpp>
#include <forebay/plan.hpp>
#include <forebay/range.hpp>
#include <forebay/runtime.hpp>
#include <forebay/session.hpp>
#include <forebay/stored_dataset.hpp>
#include <forebay/stream_plan.hpp>
#include <forebay/write_plan.hpp>
