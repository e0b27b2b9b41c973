// What one measurement leaves behind: the records are the only source of every chart and table.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "common/gpu.h"
#include "common/timing.h"
#include "common/verify.h"

/// What names a measurement: step, variant, types, layout, size, scaling.
nlohmann::ordered_json identity_record(const std::string& step, const Variant& variant, bool is_default,
                                       const Shape& shape);

/// A timed measurement; the keys are described in CONTRIBUTING.md.
nlohmann::ordered_json timing_record(const std::string& step, const Variant& variant, bool is_default,
                                     const Shape& shape, const LaunchOptions& options, const Timing& timing,
                                     const std::string& baseline, const Comparison& verified, const Gpu& gpu);

/// A variant as `--list --json` writes it.
nlohmann::ordered_json variant_record(const std::string& step, const Variant& variant, bool is_default);
