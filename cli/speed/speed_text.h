// The speed of a run, and the result of `trainer speed`, as text for people and as JSON. Pure functions.
#pragma once

#include <string>

#include "millrace/cli/speed/speed.h"
#include "millrace/cli/text/json_text.h"

namespace millrace::cli {

std::string speed_text(const SpeedReport& report);
// One JSON object on one line.
std::string speed_json(const SpeedReport& report);

// "input: 38% of the processors' time: decode_csv 61%, csv_reader 39% of it; shuffle_batch held 512 of 1024 rows on
// average", then the share of the validations if it is large, then a line of advice if there is any. Empty if there is
// nothing to say.
std::string diagnosis_text(const Diagnosis& diagnosis, const DeliveryStatistics& delivery);

// "set input.batch.threads=4 (now 1): at most 1 task may decode at once, on 4 threads".
std::string advice_text(const Advice& advice);

// Adds the keys "input", "bottleneck" and "advice" of the event "done".
void add_diagnosis(JsonText& json, const Diagnosis& diagnosis, const DeliveryStatistics& delivery);

}  // namespace millrace::cli
