#include "millrace/core/registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace millrace {
namespace {

struct Animal {
  virtual ~Animal() = default;
  virtual int64_t legs() const = 0;
};

class Insect : public Animal {
 public:
  struct Options {
    int64_t legs = 6;
    void declare(OptionReader& o) {
      o.optional("legs", legs, {.min = 0}, "how many it has left");
      o.stands_alone("legs");
    }
  };
  static constexpr std::string_view kDoc = "Has six legs.";
  static constexpr std::string_view kExample = "legs: 5";
  explicit Insect(Options options) : options_(std::move(options)) {}
  int64_t legs() const override { return options_.legs; }

 private:
  Options options_;
};

class Snake : public Animal {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "Has none.";
  explicit Snake(Options) {}
  int64_t legs() const override { return 0; }
};

// Has no options.
class Worm : public Animal {
 public:
  static constexpr std::string_view kDoc = "Has none either.";
  int64_t legs() const override { return 0; }
};

const Place kPlace{"zoo.yaml", 2, 5};

Registry<Animal> animals() {
  Registry<Animal> registry("animal");
  registry.add<Snake>("snake");
  registry.add<Insect>("insect");
  return registry;
}

std::unique_ptr<Animal> make(const Registry<Animal>& registry, const Spec& spec, Spec* resolved = nullptr) {
  return registry.make(registry.read(spec, "an animal"), spec, resolved);
}

TEST(Registry, MakesWhatASpecDescribes) {
  const Registry<Animal> registry = animals();
  EXPECT_EQ(make(registry, Spec::of("snake"))->legs(), 0);
  Spec resolved;
  Spec insect = Spec::map(kPlace);
  insect.set("insect", Spec::map(kPlace).set("legs", 5));
  EXPECT_EQ(make(registry, insect, &resolved)->legs(), 5);
  EXPECT_EQ(resolved.find("legs")->as_int(), 5);
  EXPECT_EQ(make(registry, Spec::of("insect"), &resolved)->legs(), 6);
  EXPECT_EQ(resolved.find("legs")->as_int(), 6);
}

// A kind of a program's own, which is made by `make` and described by `describe`.
std::string error_of_kind(std::function<std::unique_ptr<Animal>()> make_one,
                          std::function<std::vector<OptionInfo>()> describe = describe_options<NoOptions>) {
  Registry<Animal> registry = animals();
  registry.add("odd",
               {.doc = "odd", .describe = std::move(describe), .make = [&](const Spec&, Spec*) { return make_one(); }});
  const Spec spec = Spec::map(kPlace).set("odd", Spec::map(kPlace));
  try {
    registry.options_of("odd", spec);
    make(registry, spec);
  } catch (const Error& error) {
    return cat(to_string(error.kind()), ": ", error.what());
  }
  return "nothing";
}

TEST(Registry, SaysWhichKindThrewWhereverItStands) {
  EXPECT_EQ(error_of_kind([]() -> std::unique_ptr<Animal> { throw 5; }),
            "internal: zoo.yaml:2:5: animal odd: an exception of unknown type");
  EXPECT_EQ(error_of_kind([]() -> std::unique_ptr<Animal> { throw std::runtime_error("ill"); }),
            "internal: zoo.yaml:2:5: animal odd: ill");
  EXPECT_EQ(error_of_kind([]() -> std::unique_ptr<Animal> { throw ConfigError("wild"); }),
            "config: zoo.yaml:2:5: odd: wild");
  EXPECT_EQ(error_of_kind({}, []() -> std::vector<OptionInfo> { throw 5; }),
            "internal: zoo.yaml:2:5: animal odd: an exception of unknown type");
}

TEST(Registry, RefusesAnObjectThatIsNotThere) {
  EXPECT_EQ(error_of_kind([] { return std::unique_ptr<Animal>(); }),
            "internal: zoo.yaml:2:5: animal odd: make() returned null");
}

class Tame : public HasOrigin {
 public:
  static constexpr std::string_view kDoc = "Knows where it comes from.";
  virtual ~Tame() = default;
  int64_t age() const { return 7; }
};

TEST(Registry, TellsAnObjectWhereItComesFrom) {
  Registry<Tame> registry("tame animal");
  registry.add<Tame>("cat");
  const Spec spec = Spec::scalar("cat", false, kPlace);
  const std::unique_ptr<Tame> made = registry.make(registry.read(spec, "a tame animal"), spec);
  EXPECT_EQ(made->origin().who, "tame animal cat");
  EXPECT_EQ(made->origin().place, kPlace);
  EXPECT_EQ(attributed(*made, &Tame::age), 7);
}

std::string error_of(const Spec& spec) {
  try {
    make(animals(), spec);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Registry, NamesTheNearestKindOrAllOfThem) {
  EXPECT_EQ(error_of(Spec::scalar("insects", false, kPlace)),
            "zoo.yaml:2:5: unknown animal \"insects\"; did you mean insect?");
  EXPECT_EQ(error_of(Spec::scalar("helicopter", false, kPlace)),
            "zoo.yaml:2:5: unknown animal \"helicopter\"; known: insect and snake");
}

TEST(Registry, PassesOnErrorsInOptions) {
  Spec snake = Spec::map(kPlace);
  snake.set("snake", Spec::map(kPlace).set("legs", Spec::scalar("2", false, kPlace)));
  EXPECT_EQ(error_of(snake), "zoo.yaml:2:5: snake: unknown key legs; there are no options here");
}

// Refuses what its options say, without a place.
class Choosy : public Animal {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "Refuses.";
  explicit Choosy(const Options&) { throw ConfigError("it wants none of that"); }
  int64_t legs() const override { return 0; }
};

TEST(Registry, ErrorsWithoutAPlaceGetThatOfTheSpec) {
  Registry<Animal> registry = animals();
  registry.add<Choosy>("choosy");
  Spec spec = Spec::scalar("choosy", false, kPlace);
  for (const auto& [path, text] : {std::pair{"", "zoo.yaml:2:5: choosy: it wants none of that"},
                                   std::pair{"zoo[3]", "zoo.yaml:2:5: zoo[3].choosy: it wants none of that"}}) {
    spec.set_path(path);
    try {
      make(registry, spec);
      ADD_FAILURE() << "made";
    } catch (const ConfigError& error) {
      EXPECT_STREQ(error.what(), text);
    }
  }
}

// `kind: value`.
Spec one_value(const std::string& kind, const std::string& value) {
  Spec spec = Spec::map(kPlace);
  spec.set(kind, Spec::scalar(value, false, kPlace));
  return spec;
}

TEST(Registry, ReadsAValueInPlaceOfOptions) {
  Spec resolved;
  EXPECT_EQ(make(animals(), one_value("insect", "4"), &resolved)->legs(), 4);
  EXPECT_EQ(resolved.find("legs")->as_int(), 4);
  EXPECT_EQ(error_of(one_value("insect", "-1")), "zoo.yaml:2:5: insect: expected at least 0, got -1");
  EXPECT_EQ(error_of(one_value("snake", "2")),
            "zoo.yaml:2:5: snake: expected the options of snake as a map, got 2; write `snake: {option: value}`");
  EXPECT_EQ(error_of(one_value("insetc", "2")), "zoo.yaml:2:5: unknown animal \"insetc\"; did you mean insect?");
}

TEST(Registry, SaysWhatTheBuildLeavesOut) {
  Registry<Animal> registry = animals();
  registry.leave_out("parrot", "birds");
  EXPECT_EQ(registry.kinds(), (std::vector<std::string>{"insect", "snake"}));
  const Spec spec = Spec::scalar("parrot", false, kPlace);
  try {
    make(registry, spec);
    ADD_FAILURE() << "made";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "zoo.yaml:2:5: animal \"parrot\" is not in this build (MILLRACE_WITHOUT=birds); "
                 "take birds out of MILLRACE_WITHOUT and build again");
  }
  registry.add<Snake>("parrot");
  EXPECT_EQ(make(registry, spec)->legs(), 0);
}

class Parrot : public Animal {
 public:
  explicit Parrot(std::vector<std::string>& said) : said_(said) {}
  int64_t legs() const override {
    said_.emplace_back("two");
    return 2;
  }

 private:
  std::vector<std::string>& said_;
};

TEST(Registry, AProgramsKindMayHoldWhatIsThePrograms) {
  std::vector<std::string> said;
  Registry<Animal> registry = animals();
  {
    std::string doc = "says what it has";
    registry.add(std::string("parrot"), {.doc = doc,
                                         .describe = describe_options<Snake::Options>,
                                         .make = [&said](const Spec& options, Spec* resolved) {
                                           read_options<Snake::Options>(options, resolved);
                                           return std::make_unique<Parrot>(said);
                                         }});
    doc = "gone";
  }
  const Registry<Animal> copy = registry;
  EXPECT_EQ(make(copy, Spec::of("parrot"))->legs(), 2);
  EXPECT_EQ(said, (std::vector<std::string>{"two"}));
  EXPECT_EQ(copy.find("parrot", Spec()).doc, "says what it has");
  EXPECT_TRUE(copy.find("parrot", Spec()).describe().empty());
  EXPECT_THROW(registry.add("parrot", copy.find("parrot", Spec())), ConfigError);
}

TEST(Registry, OwnsTheNameOfItsSort) {
  std::string what = "a sort with a name that no string keeps in itself";
  const Registry<Animal> registry(what);
  what.assign(what.size(), 'x');
  try {
    registry.find("dog", Spec());
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(), "unknown a sort with a name that no string keeps in itself \"dog\"");
  }
}

TEST(Registry, RefusesAKindTwice) {
  Registry<Animal> registry = animals();
  try {
    registry.add<Snake>("snake");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "the animal snake is registered twice");
  }
}

TEST(Registry, ACopyIsIndependent) {
  const Registry<Animal> original = animals();
  Registry<Animal> copy = original;
  copy.add<Snake>("worm");
  EXPECT_EQ(copy.kinds(), (std::vector<std::string>{"insect", "snake", "worm"}));
  EXPECT_EQ(original.kinds(), (std::vector<std::string>{"insect", "snake"}));
}

TEST(Registry, DescribesItsKinds) {
  const Registry<Animal> registry = animals();
  const auto& entry = registry.find("insect", Spec());
  EXPECT_EQ(entry.doc, "Has six legs.");
  ASSERT_EQ(entry.describe().size(), 1u);
  EXPECT_EQ(entry.describe()[0].default_value, "6");
}

TEST(Registry, DescribesItsKindsForReferencePages) {
  const std::vector<KindInfo> kinds = animals().describe();
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].kind, "insect");
  EXPECT_EQ(kinds[0].doc, "Has six legs.");
  EXPECT_EQ(kinds[0].options.at(0).name, "legs");
  EXPECT_EQ(kinds[0].example, "legs: 5");
  EXPECT_EQ(kinds[1].example, "");
  EXPECT_EQ(animals().what(), "animal");
}

TEST(Registry, AKindMayHaveNoOptions) {
  Registry<Animal> registry("animal");
  registry.add<Worm>("worm");
  EXPECT_TRUE(registry.describe()[0].options.empty());
  Spec resolved;
  EXPECT_EQ(make(registry, Spec::of("worm"), &resolved)->legs(), 0);
  EXPECT_EQ(resolved.size(), 0u);
  try {
    make(registry, Spec::map().set("worm", Spec::map().set("legs", 1)));
    FAIL() << "an option was taken";
  } catch (const ConfigError& error) {
    EXPECT_NE(error.message().find("legs"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace millrace
