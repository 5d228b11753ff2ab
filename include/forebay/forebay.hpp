// SPDX-License-Identifier: Apache-2.0
// Includes all headers that a C++ program needs to use Forebay.
#pragma once

#include <forebay/access.hpp>
#include <forebay/attribute.hpp>
#include <forebay/backend_choice.hpp>
#include <forebay/buffer.hpp>
#include <forebay/dataset_reader.hpp>
#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/future.hpp>
#include <forebay/istream.hpp>
#include <forebay/log.hpp>
#include <forebay/memory_layout.hpp>
#include <forebay/output_stream.hpp>
#include <forebay/part.hpp>
#include <forebay/placement.hpp>
#include <forebay/range.hpp>
#include <forebay/read_plan.hpp>
#include <forebay/runtime.hpp>
#include <forebay/session.hpp>
#include <forebay/stream_plan.hpp>
#include <forebay/temporary_file.hpp>
#include <forebay/write_plan.hpp>
