#include "millrace/layers/schedule/schedule.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "millrace/core/math.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr int64_t kMostSteps = int64_t{1} << 53;  // exact as doubles

struct Warmup {
  int64_t warmup = 0;
  void declare(OptionReader& o) {
    o.optional("warmup", warmup, {.min = 0, .max = kMostSteps},
               "first updates, in which the rate rises linearly: the first has 1 / warmup of what the schedule begins "
               "with, the last all of it");
  }
};

// The options of a schedule that ends.
struct Ending : Warmup {
  int64_t steps = 0;
  void declare(OptionReader& o) {
    o.required("steps", steps, {.min = 1, .max = kMostSteps},
               "the updates until the schedule ends, the warmup included: usually train.steps");
    o.used_as("steps", OptionUse::updates);
    Warmup::declare(o);
    if (o.reading() && steps <= warmup) {
      throw o.node("steps").error(cat("expected more than warmup = ", warmup, ", got ", steps),
                                  "steps counts the updates of the warm-up too");
    }
  }
  double length() const { return static_cast<double>(steps - warmup); }
};

class WarmedShape : public ScheduleShape {
 public:
  explicit WarmedShape(const Warmup& options) : warmup_(static_cast<uint64_t>(options.warmup)) {}
  double factor(uint64_t step) const final {
    if (step >= warmup_) return after_warmup(static_cast<double>(step - warmup_));
    return static_cast<double>(step + 1) / static_cast<double>(warmup_) * after_warmup(0);
  }

 protected:
  // `update` is a whole number from 0 on.
  virtual double after_warmup(double update) const = 0;

 private:
  uint64_t warmup_;
};

// A point on the half wave of a cosine that leads from `from` to `to`; `share` of the way is done, from 0 to 1.
double half_wave(double from, double to, double share) {
  return to + (from - to) * (0.5 * (1 + math::sine_cosine(0.5 * share).cosine));
}

class ConstantRate final : public WarmedShape {
 public:
  using Options = Warmup;
  static constexpr std::string_view kDoc = "the configured rate";
  explicit ConstantRate(const Options& options) : WarmedShape(options) {}

 private:
  double after_warmup(double) const override { return 1; }
};

class Step final : public WarmedShape {
 public:
  struct Options : Warmup {
    int64_t every = 0;
    double factor = 0.1;
    void declare(OptionReader& o) {
      o.required("every", every, {.min = 1, .max = kMostSteps}, "updates between two multiplications");
      o.optional("factor", factor, {.min = 0, .max = 1, .above_min = true}, "what the rate is multiplied by");
      Warmup::declare(o);
    }
  };
  static constexpr std::string_view kDoc =
      "the rate times factor after each `every` updates, counted from the end of the warm-up";
  explicit Step(const Options& options) : WarmedShape(options), options_(options) {}

 private:
  double after_warmup(double update) const override {
    return math::power(options_.factor, static_cast<uint64_t>(update) / static_cast<uint64_t>(options_.every));
  }
  Options options_;
};

class Exponential final : public WarmedShape {
 public:
  struct Options : Warmup {
    double decay = 0;
    int64_t every = 1;
    void declare(OptionReader& o) {
      o.required("decay", decay, {.min = 0, .max = 1, .above_min = true},
                 "the share of the rate that is left after `every` updates");
      o.optional("every", every, {.min = 1, .max = kMostSteps},
                 "updates over which the rate falls smoothly to that share");
      Warmup::declare(o);
    }
  };
  static constexpr std::string_view kDoc = "the rate times decay^(update / every), counted from the end of the warm-up";
  explicit Exponential(const Options& options)
      : WarmedShape(options), logarithm_(math::log(options.decay)), every_(static_cast<double>(options.every)) {}

 private:
  double after_warmup(double update) const override { return math::exp(update / every_ * logarithm_); }
  double logarithm_, every_;
};

struct EndingWithShare : Ending {
  double last = 0;
  void declare(OptionReader& o) {
    Ending::declare(o);
    o.optional("final", last, {.min = 0, .max = 1}, "the share of the rate that is left at the end");
  }
};

class Cosine final : public WarmedShape {
 public:
  using Options = EndingWithShare;
  static constexpr std::string_view kDoc =
      "from the full rate, by half a wave of a cosine, to its share `final`, which the first update after `steps` has";
  explicit Cosine(const Options& options) : WarmedShape(options), options_(options) {}

 private:
  double after_warmup(double update) const override {
    return half_wave(1, options_.last, std::min(update / options_.length(), 1.0));
  }
  Options options_;
};

class Linear final : public WarmedShape {
 public:
  using Options = EndingWithShare;
  static constexpr std::string_view kDoc =
      "from the full rate, in a straight line, to its share `final`, which the first update after `steps` has";
  explicit Linear(const Options& options) : WarmedShape(options), options_(options) {}

 private:
  double after_warmup(double update) const override {
    const double share = std::min(update / options_.length(), 1.0);
    return (1 - share) + options_.last * share;
  }
  Options options_;
};

class OneCycle final : public WarmedShape {
 public:
  struct Options : Ending {
    double rise = 0.3, div = 25, final_div = 1e4;
    void declare(OptionReader& o) {
      Ending::declare(o);
      o.optional("rise", rise, {.min = 0, .max = 1},
                 "the share of the updates in which the rate rises to the full one; less than one update: the top lies "
                 "before the first, so the rate only falls, and div sets only the last one");
      o.optional("div", div, {.min = 1, .max = 1e30}, "the full rate divided by this is the first one");
      o.optional("final_div", final_div, {.min = 1, .max = 1e30}, "the first rate divided by this is the last one");
    }
  };
  static constexpr std::string_view kDoc =
      "up to the full rate and down again, each by half a wave of a cosine; the last of the `steps` updates has the "
      "last rate, but with `rise: 1` the full one";
  explicit OneCycle(const Options& options)
      : WarmedShape(options),
        peak_(options.rise * options.length() - 1),
        end_(options.length() - 1),
        first_(1 / options.div),
        last_(first_ / options.final_div) {}

 private:
  double after_warmup(double update) const override {
    if (update < peak_) return half_wave(first_, 1, update / peak_);
    return end_ > peak_ ? half_wave(1, last_, std::min((update - peak_) / (end_ - peak_), 1.0)) : 1;
  }
  double peak_, end_, first_, last_;
};

}  // namespace

// Made at every call. A static object would look like a race to a program under ThreadSanitizer if this library was
// built without it.
ScheduleRegistry schedules() {
  ScheduleRegistry registry("schedule");
  registry.add<ConstantRate>("constant");
  registry.add<Cosine>("cosine");
  registry.add<Exponential>("exponential");
  registry.add<Linear>("linear");
  registry.add<OneCycle>("one_cycle");
  registry.add<Step>("step");
  return registry;
}

Schedule::Schedule() : spec_(Spec::scalar("constant", false, {})) {}

Schedule::Schedule(const Spec& spec) : Schedule() {
  const ScheduleRegistry known = schedules();
  const KindAndOptions wanted = known.read(spec, "a schedule");
  Spec options;
  std::unique_ptr<ScheduleShape> shape = known.make(wanted, spec, &options);
  // The default is written as the reference names it.
  if (wanted.kind == "constant" && options.find("warmup")->as_int() == 0) return;
  shape_ = std::move(shape);
  spec_ = Spec::map(spec.place());
  spec_.set(wanted.kind, std::move(options));
}

double Schedule::factor(uint64_t step) const { return shape_ == nullptr ? 1 : shape_->factor(step); }

std::string OptionType<Schedule>::type() { return name_type(schedules().kinds()); }

std::vector<OptionForm> OptionType<Schedule>::forms() {
  return {{.is = OptionForm::Is::kind, .sort = schedules().what()}};
}

}  // namespace millrace
