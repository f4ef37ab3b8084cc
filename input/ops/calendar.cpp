// calendar: what a calendar and a clock say of seconds since 1970: the year, the day of the week, how far the day has
// gone, and so on. The parts of several columns stand side by side.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/dates.h"
#include "millrace/core/math.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/onnx_calendar.h"
#include "millrace/input/onnx_rows.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {

namespace {

// What CalendarTime says, in an ONNX graph.
struct OnnxTime : OnnxDate {
  OnnxWhole second;  // of the day
};

// The share of the circle is a quotient of whole numbers, and math::sine_cosine() gives the same bits on every machine.
math::SineCosine circle(int step, int64_t steps) {
  return math::sine_cosine(static_cast<double>(step) / static_cast<double>(steps));
}
double sine(int step, int64_t steps) { return circle(step, steps).sine; }
double cosine(int step, int64_t steps) { return circle(step, steps).cosine; }

// The same in an ONNX graph.
OnnxValue circle(const char* function, const OnnxWhole& step, const OnnxWhole& steps) {
  OnnxGraph& graph = *step.graph;
  const OnnxValue share =
      graph.add("Div", {graph.cast(step.value, OnnxType::f64), graph.cast(steps.value, OnnxType::f64)});
  return graph.add(function, {graph.add("Mul", {share, graph.constant(6.283185307179586)})});
}
OnnxValue sine(const OnnxWhole& step, const OnnxWhole& steps) { return circle("Sin", step, steps); }
OnnxValue sine(const OnnxWhole& step, int64_t steps) { return sine(step, step.number(steps)); }
OnnxValue cosine(const OnnxWhole& step, const OnnxWhole& steps) { return circle("Cos", step, steps); }
OnnxValue cosine(const OnnxWhole& step, int64_t steps) { return cosine(step, step.number(steps)); }

OnnxValue value_of(const OnnxWhole& whole) { return whole.value; }
OnnxValue value_of(OnnxValue value) { return value; }

struct CalendarPart {
  std::string_view name;
  double (*of)(const CalendarTime& time);
  OnnxValue (*in_onnx)(const OnnxTime& time);
};
// `Part` gives the part of both kinds of time.
template <class Part>
constexpr CalendarPart part(std::string_view name, Part) {
  return {name, [](const CalendarTime& time) -> double { return Part{}(time); },
          [](const OnnxTime& time) { return value_of(Part{}(time)); }};
}
constexpr CalendarPart kCalendarParts[] = {
    part("year", [](const auto& time) { return time.year; }),
    part("month", [](const auto& time) { return time.month; }),
    part("day", [](const auto& time) { return time.day; }),
    part("yearday", [](const auto& time) { return time.yearday; }),
    part("weekday", [](const auto& time) { return time.weekday; }),
    part("hour", [](const auto& time) { return time.second / 3600; }),
    part("minute", [](const auto& time) { return time.second / 60 % 60; }),
    part("month_sin", [](const auto& time) { return sine(time.month - 1, 12); }),
    part("month_cos", [](const auto& time) { return cosine(time.month - 1, 12); }),
    part("yearday_sin", [](const auto& time) { return sine(time.yearday - 1, days_of_year(time.year)); }),
    part("yearday_cos", [](const auto& time) { return cosine(time.yearday - 1, days_of_year(time.year)); }),
    part("weekday_sin", [](const auto& time) { return sine(time.weekday, 7); }),
    part("weekday_cos", [](const auto& time) { return cosine(time.weekday, 7); }),
    part("hour_sin", [](const auto& time) { return sine(time.second, kSecondsOfDay); }),
    part("hour_cos", [](const auto& time) { return cosine(time.second, kSecondsOfDay); }),
};
std::vector<std::string> part_names() {
  std::vector<std::string> out;
  for (const CalendarPart& part : kCalendarParts) out.emplace_back(part.name);
  return out;
}

}  // namespace

template <>
struct OptionType<const CalendarPart*> {
  static const CalendarPart* read(const Spec& spec) { return &kCalendarParts[read_name(spec, part_names())]; }
  static Spec write(const CalendarPart* part) { return Spec::of(part->name); }
  static std::string type() { return name_type(part_names()); }
  static std::vector<OptionForm> forms() { return name_forms(part_names()); }
};

namespace {

// Seconds from the year 0 to the year 10000: what texts of the years 1 to 9999 say, whatever their offset is.
constexpr auto kFirstSecond = static_cast<double>(days_since_1970(0) * kSecondsOfDay);
constexpr auto kEndSecond = static_cast<double>(days_since_1970(10001) * kSecondsOfDay);
bool is_in_calendar(double seconds) { return seconds >= kFirstSecond && seconds < kEndSecond; }

class Calendar final : public Transform {
 public:
  struct Options {
    std::string field, as;
    std::vector<const CalendarPart*> features;

    void declare(OptionReader& o) {
      o.required("field", field, "the field with seconds since 1970, UTC, of type float64 or int64");
      o.required("as", as, "the name of the new float32 field: for each column of the field, one for each feature");
      o.required(
          "features", features,
          "what the columns hold, in this order; weekdays count from 0, Monday, the sine and cosine of a part are "
          "those of its share of the circle");
      if (o.reading() && features.empty()) throw o.node("features").error("expected at least one feature");
    }
  };
  static constexpr std::string_view kDoc = "year, month, day of the week, hour and the like of a date or a time";
  static constexpr std::string_view kExample =
      "field: sold, as: sold_calendar, features: [year, weekday_sin, weekday_cos]";

  // What differs from row to row. The year is an amount; sines and cosines need no scaling.
  static std::optional<Spec> suit(FoundField& found) {
    if (!found.has(FoundField::Holds::times) || found.label) return {};
    const FoundField::Times& times = found.times;
    std::vector<std::string> features;
    const bool years = times.first_year != times.last_year;
    if (years) features.emplace_back("year");
    for (const auto& [differs, part] :
         {std::pair(times.yeardays, "yearday"), std::pair(times.weekdays, "weekday"), std::pair(times.clock, "hour")}) {
      if (differs) features.insert(features.end(), {cat(part, "_sin"), cat(part, "_cos")});
    }
    if (features.empty()) return {};
    const double first = static_cast<double>(times.first_year), last = static_cast<double>(times.last_year);
    found.mean = found.deviation = Spec::list();
    for (size_t i = 0; i < features.size(); ++i) {
      const bool is_year = years && i == 0;
      found.mean.append(Spec::of(is_year ? (first + last) / 2 : 0));
      found.deviation.append(Spec::of(is_year ? (last - first) / 2 : 1));
    }
    found.scaled = !years;
    found.holds = FoundField::Holds::amounts;
    found.width = std::ssize(features);
    const std::string seconds = std::exchange(found.field, found.about + "_calendar");
    return Spec::map(
        {{"field", seconds}, {"as", found.field}, {"features", OptionType<std::vector<std::string>>::write(features)}});
  }

  explicit Calendar(Options options) : options_(std::move(options)) {}

  std::optional<std::vector<std::string>> concerned_fields() const override {
    return std::vector{options_.field, options_.as};
  }

  Port bind(const BindArgs& args) override {
    Port out = args.inputs[0];
    from_ = field_index(out.rows, options_.field);
    const FieldSpec& field = out.rows.fields[from_];
    if (field.varies() || (field.dtype != DType::f64 && field.dtype != DType::i64)) {
      throw ConfigError(cat("calendar takes float64 and int64 fields, ", field.name, " is ", field.type_text()), {},
                        cat("decode it so: {", field.name, ": {columns: .., type: date}}"));
    }
    columns_ = field.shape.elements();
    to_ = add_field(out.rows, {options_.as, DType::f32, Shape{columns_ * std::ssize(options_.features)}});
    spec_ = std::make_shared<const RowSpec>(out.rows);
    return out;
  }

  void apply(Chunk& chunk) const override {
    copy_fields(chunk, spec_);
    const bool whole = spec_->fields[from_].dtype == DType::i64;
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      float* values = chunk.rows.row<float>(to_, row);
      for (int64_t column = 0; column < columns_; ++column) {
        const double seconds = whole ? static_cast<double>(chunk.rows.row<int64_t>(from_, row)[column])
                                     : chunk.rows.row<double>(from_, row)[column];
        if (!is_in_calendar(seconds)) return refuse(chunk, row, seconds);
        const CalendarTime time(static_cast<int64_t>(std::floor(seconds)));
        // A sum with 0 is never -0.
        for (const CalendarPart* part : options_.features) *values++ = static_cast<float>(part->of(time) + 0.0);
      }
    }
  }

  void to_onnx(OnnxRows& rows) const override {
    OnnxGraph& graph = rows.graph();
    const OnnxValue seconds = graph.add("Floor", {graph.cast(rows.tensor(options_.field), OnnxType::f64)});
    const OnnxValue good = graph.add("And", {graph.add("GreaterOrEqual", {seconds, graph.constant(kFirstSecond)}),
                                             graph.add("Less", {seconds, graph.constant(kEndSecond)})});
    rows.refuse(graph.add("Not", {good}));
    const OnnxValue known = graph.add("Where", {good, seconds, graph.constant(0.0)});
    const OnnxWhole since = OnnxWhole{&graph, graph.cast(known, OnnxType::i64)} + kDaysBefore1970 * kSecondsOfDay;
    const OnnxTime time{OnnxDate(since / kSecondsOfDay), since % kSecondsOfDay};
    std::vector<OnnxValue> parts;
    for (const CalendarPart* part : options_.features) {
      const OnnxValue value = graph.reshape(part->in_onnx(time), Shape{columns_, 1});
      parts.push_back(graph.cast(value, OnnxType::f32));
    }
    const Shape shape{columns_ * std::ssize(options_.features)};
    rows.set({options_.as, DType::f32, shape},
             graph.reshape(graph.add("Concat", parts, {{"axis", int64_t{2}}}), shape));
  }

  void undo(FieldHistory& history) const override {
    if (history.field == options_.as) history.complete = false;
  }

 private:
  void refuse(Chunk& chunk, int64_t row, double seconds) const {
    std::string hint;
    if (std::isnan(seconds)) hint = cat("give ", options_.field, " a default, or leave such rows out with a filter");
    if (is_in_calendar(seconds / 1000)) {
      hint = cat("if these are milliseconds, put map: {field: ", options_.field, ", scale: 0.001} before");
    }
    const DataError error(
        cat("the field ", options_.field, " holds ", seconds, ", expected seconds since 1970 of the years 0 to 10000"),
        {}, hint);
    chunk.fail(row, std::make_exception_ptr(error));
  }

  const Options options_;
  size_t from_ = 0, to_ = 0;
  int64_t columns_ = 1;
  SharedRowSpec spec_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(calendar, Calendar);
