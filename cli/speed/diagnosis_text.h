// What a run's numbers say of its speed, as text for people and as JSON. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "millrace/cli/speed/diagnosis.h"
#include "millrace/cli/text/json_text.h"

namespace millrace::cli {

// "input: 38% of the processors' time: decode_csv 61%, csv_reader 39% of it; shuffle_batch held 512 of 1024 rows on
// average", then a line of advice where there is some. Empty where no op ran.
std::string diagnosis_text(const Diagnosis& diagnosis, const DeliveryStatistics& delivery);

// "set input.batch.threads=4 (now 1): at most 1 task may decode at once, on 4 threads".
std::string advice_text(const Advice& advice);
// "decode_csv 61%, csv_reader 39%": shares of what all of them were busy.
std::string busy_shares(const std::vector<OpStatistics>& ops);

// The keys "input", "bottleneck" and "advice" of the event "done".
void add_diagnosis(JsonText& json, const Diagnosis& diagnosis, const DeliveryStatistics& delivery);
// The keys "key", "from", "to" and "expected_gain", null without advice. Whole numbers are numbers.
void add_advice(JsonText& json, const Advice* advice);

}  // namespace millrace::cli
