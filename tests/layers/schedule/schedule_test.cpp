#include "millrace/layers/schedule/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace millrace {
namespace {

Schedule make(const char* kind, const Spec& options) { return Schedule(Spec::map().set(kind, options)); }

std::vector<double> factors(const Schedule& schedule, uint64_t count) {
  std::vector<double> out;
  for (uint64_t step = 0; step < count; ++step) out.push_back(schedule.factor(step));
  return out;
}

void expect_factors(const Schedule& schedule, const std::vector<double>& expected) {
  for (size_t step = 0; step < expected.size(); ++step) {
    EXPECT_NEAR(schedule.factor(step), expected[step], 1e-15) << "update " << step;
  }
}

std::string error_of(const Spec& spec) {
  try {
    const Schedule schedule(spec);
  } catch (const ConfigError& error) {
    return error.message() + (error.hint().empty() ? "" : "; " + error.hint());
  }
  return "no error";
}
std::string error_of(const char* kind, const Spec& options) { return error_of(Spec::map().set(kind, options)); }

// "kind: {key: value, ..}" as it is printed.
std::string text_of(const Schedule& schedule) {
  if (schedule.spec().is_scalar()) return schedule.spec().as_string();
  const auto& [kind, options] = schedule.spec().entries().front();
  std::string out = kind + ":";
  for (const auto& [key, value] : options.entries()) out += ' ' + key + '=' + value.as_string();
  return out;
}

// The lists of factors named PyTorch's are the rates of torch.optim.lr_scheduler 1.13 with a base rate of 1, read
// before each optimizer.step() that a scheduler.step() follows.

TEST(Schedule, IsConstantByDefault) {
  EXPECT_EQ(factors(Schedule(), 3), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(factors(Schedule(Spec::of("constant")), 3), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(Schedule().factor(UINT64_MAX), 1);
}

TEST(Schedule, WarmsUpInAStraightLine) {
  const Schedule schedule = make("constant", Spec::map().set("warmup", 4));
  EXPECT_EQ(factors(schedule, 6), (std::vector<double>{0.25, 0.5, 0.75, 1, 1, 1}));
  EXPECT_EQ(factors(make("constant", Spec::map().set("warmup", 1)), 2), (std::vector<double>{1, 1}));
}

TEST(Schedule, BeginsBehindItsWarmup) {
  // PyTorch's SequentialLR of LinearLR(start_factor=0.25, total_iters=3) and CosineAnnealingLR(T_max=6), milestone 4.
  expect_factors(make("cosine", Spec::map().set("steps", 10).set("warmup", 4)),
                 {0.25, 0.5, 0.75, 1, 1, 0.9330127018922194, 0.75, 0.5, 0.25, 0.06698729810778065, 0});
}

TEST(Schedule, EveryShapeRisesAndIsThenItself) {
  const struct {
    const char* kind;
    Spec options;
    bool ends;
  } shapes[] = {{"constant", Spec::map(), false},
                {"step", Spec::map().set("every", 3), false},
                {"exponential", Spec::map().set("decay", 0.5).set("every", 2), false},
                {"cosine", Spec::map().set("steps", 20), true},
                {"linear", Spec::map().set("steps", 20).set("final", 0.5), true},
                {"one_cycle", Spec::map().set("steps", 20), true}};
  for (const auto& [kind, options, ends] : shapes) {
    SCOPED_TRACE(kind);
    const Schedule plain = make(kind, options);
    Spec warm_options = options;
    warm_options.set("warmup", 7);
    if (ends) warm_options.set("steps", 27);
    const Schedule warm = make(kind, warm_options);
    for (uint64_t step = 0; step < 7; ++step) {
      EXPECT_EQ(warm.factor(step), static_cast<double>(step + 1) / 7 * plain.factor(0)) << "update " << step;
      if (step > 0) {
        EXPECT_GT(warm.factor(step), warm.factor(step - 1)) << "update " << step;
      }
    }
    EXPECT_EQ(warm.factor(6), plain.factor(0));
    for (uint64_t step = 0; step < 30; ++step) EXPECT_EQ(warm.factor(7 + step), plain.factor(step)) << step;
  }
}

TEST(Schedule, StepMultipliesAtOnce) {
  const Schedule schedule = make("step", Spec::map().set("every", 2).set("factor", 0.5));
  EXPECT_EQ(factors(schedule, 7), (std::vector<double>{1, 1, 0.5, 0.5, 0.25, 0.25, 0.125}));
  // PyTorch's StepLR(step_size=3), whose factor is 0.1.
  expect_factors(make("step", Spec::map().set("every", 3)), {1, 1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.001});
}

TEST(Schedule, ExponentialFallsSmoothly) {
  // PyTorch's ExponentialLR(0.9).
  expect_factors(make("exponential", Spec::map().set("decay", 0.9)),
                 {1, 0.9, 0.81, 0.729, 0.6561, 0.59049, 0.531441, 0.4782969});
  expect_factors(make("exponential", Spec::map().set("decay", 0.25).set("every", 2)), {1, 0.5, 0.25, 0.125, 0.0625});
  EXPECT_EQ(make("exponential", Spec::map().set("decay", 1)).factor(1000000), 1);
  EXPECT_NEAR(make("exponential", Spec::map().set("decay", 0.5).set("every", 1000)).factor(3000000), 0, 1e-300);
}

TEST(Schedule, CosineFallsByHalfAWave) {
  const Schedule schedule = make("cosine", Spec::map().set("steps", 10).set("final", 0.1));
  // PyTorch's CosineAnnealingLR(T_max=10, eta_min=0.1).
  expect_factors(schedule, {1, 0.9779754323328191, 0.9140576474687263, 0.8145033635316129, 0.6890576474687263, 0.55,
                            0.4109423525312738, 0.2854966364683872, 0.18594235253127372, 0.12202456766718092, 0.1});
  EXPECT_EQ(schedule.factor(0), 1);
  EXPECT_EQ(schedule.factor(10), 0.1);
  EXPECT_EQ(schedule.factor(1000000), 0.1);
  EXPECT_EQ(make("cosine", Spec::map().set("steps", 4)).factor(2), 0.5);
  EXPECT_EQ(make("cosine", Spec::map().set("steps", 4)).factor(4), 0);
}

TEST(Schedule, LinearFallsInALine) {
  const Schedule schedule = make("linear", Spec::map().set("steps", 8).set("final", 0.2));
  // PyTorch's LinearLR(start_factor=1, end_factor=0.2, total_iters=8).
  expect_factors(schedule, {1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.2});
  EXPECT_EQ(schedule.factor(1000000), 0.2);
  EXPECT_EQ(factors(make("linear", Spec::map().set("steps", 4)), 6), (std::vector<double>{1, 0.75, 0.5, 0.25, 0, 0}));
}

TEST(Schedule, OneCycleRisesAndFalls) {
  const Schedule schedule = make("one_cycle", Spec::map().set("steps", 20));
  // PyTorch's OneCycleLR(max_lr=1, total_steps=20).
  expect_factors(schedule, {0.04,
                            0.1316718427000253,
                            0.3716718427000253,
                            0.6683281572999747,
                            0.9083281572999747,
                            1,
                            0.9874640062350873,
                            0.9504846320134737,
                            0.89091617757105,
                            0.8117456539497631,
                            0.7169430017913008,
                            0.6112620219362893,
                            0.500002,
                            0.38874197806371075,
                            0.28306099820869923,
                            0.18825834605023697,
                            0.10908782242895004,
                            0.049519367986526286,
                            0.012539993764912554,
                            4e-06});
  EXPECT_EQ(schedule.factor(5), 1);
  EXPECT_EQ(schedule.factor(1000000), schedule.factor(19));
  // The same with pct_start=0.5, div_factor=10, final_div_factor=100 and 7 steps: the top lies between two updates.
  expect_factors(make("one_cycle", Spec::map().set("steps", 7).set("rise", 0.5).set("div", 10).set("final_div", 100)),
                 {0.1, 0.41094235253127365, 0.9140576474687263, 0.9505339495172583, 0.611649206511179,
                  0.18906684397156262, 0.001});
  // The same with pct_start=0.05 and 10 steps: the top lies before the first.
  expect_factors(make("one_cycle", Spec::map().set("steps", 10).set("rise", 0.05)),
                 {0.9931806789787544, 0.9397371166557421, 0.8386414312497273, 0.7008489089356355, 0.5412915075774754,
                  0.3772597474005747, 0.2265290148351029, 0.10543332358282206, 0.027095270784166084, 4e-06});
}

TEST(Schedule, OneCycleMayBeAllRiseOrOneUpdate) {
  const Schedule rise = make("one_cycle", Spec::map().set("steps", 3).set("rise", 1).set("div", 2));
  EXPECT_EQ(factors(rise, 5), (std::vector<double>{0.5, 0.75, 1, 1, 1}));
  EXPECT_EQ(factors(make("one_cycle", Spec::map().set("steps", 1).set("rise", 1)), 2), (std::vector<double>{1, 1}));
  expect_factors(make("one_cycle", Spec::map().set("steps", 1)), {4e-06, 4e-06});
  // 1 of 4 updates: the rise ends where it begins.
  EXPECT_EQ(make("one_cycle", Spec::map().set("steps", 4).set("rise", 0.25)).factor(0), 1);
}

TEST(Schedule, NeverLeavesZeroToOne) {
  for (const char* kind : {"cosine", "linear", "one_cycle"}) {
    for (const int steps : {1, 2, 3, 7, 100, 1000}) {
      const Schedule schedule = make(kind, Spec::map().set("steps", steps));
      for (uint64_t step = 0; step <= static_cast<uint64_t>(steps) + 1; ++step) {
        EXPECT_GE(schedule.factor(step), 0) << kind << ' ' << steps << ' ' << step;
        EXPECT_LE(schedule.factor(step), 1) << kind << ' ' << steps << ' ' << step;
      }
    }
  }
}

TEST(Schedule, RefusesAnEndWithinTheWarmup) {
  for (const char* kind : {"cosine", "linear", "one_cycle"}) {
    EXPECT_EQ(error_of(kind, Spec::map().set("steps", 4).set("warmup", 5)),
              std::string(kind) +
                  ".steps: expected more than warmup = 5, got 4; steps counts the updates of the warm-up too");
    EXPECT_EQ(error_of(kind, Spec::map().set("steps", 5).set("warmup", 5)),
              std::string(kind) +
                  ".steps: expected more than warmup = 5, got 5; steps counts the updates of the warm-up too");
    EXPECT_EQ(error_of(kind, Spec::map()), std::string(kind) +
                                               ": the key steps is required (integer); steps: the updates until the "
                                               "schedule ends, the warmup included: usually train.steps");
    EXPECT_EQ(error_of(Spec::of(kind)),
              "the key steps is required (integer); steps: the updates until the schedule ends, the warmup included: "
              "usually train.steps");
  }
}

TEST(Schedule, RefusesWhatMakesNoSense) {
  EXPECT_EQ(error_of(Spec::of("cosin")), "unknown schedule \"cosin\"; did you mean cosine?");
  EXPECT_EQ(error_of(Spec::of("plateau")),
            "unknown schedule \"plateau\"; known: constant, cosine, exponential, linear, one_cycle and step");
  EXPECT_EQ(error_of(Spec::list()),
            "expected a schedule as a name or as one name with its options, got a list; write `name` or "
            "`name: {option: value}`; check the indentation of the options");
  EXPECT_EQ(error_of("constant", Spec::map().set("warmup", -1)),
            "constant.warmup: expected at least 0 and at most 9007199254740992, got -1");
  EXPECT_EQ(error_of("constant", Spec::map().set("steps", 5)), "constant: unknown key steps; the keys here are warmup");
  EXPECT_EQ(error_of("step", Spec::map().set("every", 0)),
            "step.every: expected at least 1 and at most 9007199254740992, got 0");
  EXPECT_EQ(error_of("step", Spec::map().set("every", 1).set("factor", 0)),
            "step.factor: expected more than 0 and at most 1, got 0");
  EXPECT_EQ(error_of("exponential", Spec::map().set("decay", 1.5)),
            "exponential.decay: expected more than 0 and at most 1, got 1.5");
  EXPECT_EQ(error_of("cosine", Spec::map().set("steps", 5).set("final", -0.5)),
            "cosine.final: expected at least 0 and at most 1, got -0.5");
  EXPECT_EQ(error_of("one_cycle", Spec::map().set("steps", 5).set("rise", 2)),
            "one_cycle.rise: expected at least 0 and at most 1, got 2");
  EXPECT_EQ(error_of("one_cycle", Spec::map().set("steps", 5).set("div", 0.5)),
            "one_cycle.div: expected at least 1 and at most 1e+30, got 0.5");
}

TEST(Schedule, WritesEveryOptionAndReadsItBack) {
  EXPECT_EQ(text_of(Schedule()), "constant");
  EXPECT_EQ(text_of(make("constant", Spec::map().set("warmup", 0))), "constant");
  EXPECT_EQ(text_of(make("constant", Spec::map().set("warmup", 5))), "constant: warmup=5");
  EXPECT_EQ(text_of(make("step", Spec::map().set("every", 9))), "step: every=9 factor=0.1 warmup=0");
  EXPECT_EQ(text_of(make("exponential", Spec::map().set("decay", 0.5))), "exponential: decay=0.5 every=1 warmup=0");
  EXPECT_EQ(text_of(make("cosine", Spec::map().set("steps", 9))), "cosine: steps=9 warmup=0 final=0");
  const Schedule cycle = make("one_cycle", Spec::map().set("steps", 9));
  EXPECT_EQ(text_of(cycle), "one_cycle: steps=9 warmup=0 rise=0.3 div=25 final_div=10000");
  EXPECT_EQ(text_of(Schedule(cycle.spec())), text_of(cycle));
}

TEST(Schedule, IsAnOption) {
  struct Options {
    Schedule schedule;
    void declare(OptionReader& o) { o.optional("schedule", schedule, "how the rate changes"); }
  };
  const OptionInfo info = describe_options<Options>().front();
  EXPECT_EQ(info.type, "constant|cosine|exponential|linear|one_cycle|step");
  EXPECT_EQ(info.default_value, "constant");

  Spec resolved;
  const Spec linear = Spec::map().set("linear", Spec::map().set("steps", 4));
  const auto options = read_options<Options>(Spec::map().set("schedule", linear), &resolved);
  EXPECT_EQ(options.schedule.factor(2), 0.5);
  EXPECT_EQ(resolved.find("schedule")->find("linear")->find("final")->as_string(), "0");
}

}  // namespace
}  // namespace millrace
