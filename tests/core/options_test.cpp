#include "millrace/core/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace millrace {
enum class Color { red, green };
template <>
struct EnumNames<Color> {
  static constexpr std::pair<std::string_view, Color> kNames[] = {{"red", Color::red}, {"green", Color::green}};
};

namespace {

struct Options {
  int64_t rows = 0;
  double rate = 0.5;
  bool shuffle = true;
  std::string name;
  Color color = Color::green;
  std::optional<int64_t> limit;
  std::vector<std::string> missing = {"", "NA"};

  void declare(OptionReader& o) {
    o.required("rows", rows, {.min = 1, .max = 100}, "rows to take");
    o.optional("rate", rate, {.min = 0, .above_min = true}, "how fast");
    o.optional("shuffle", shuffle, "in random order");
    o.optional("name", name, "what it is called");
    o.optional("color", color, "how it looks");
    o.optional("limit", limit, {.min = 0}, "the most");
    o.optional("missing", missing, "texts that mean nothing");
  }
};

const Place kPlace{"mlp.yaml", 3, 7};
Spec plain(std::string text) { return Spec::scalar(std::move(text), false, kPlace); }
Spec map() { return Spec::map(kPlace); }

std::string error_of(const Spec& spec) {
  try {
    read_options<Options>(spec);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Options, KeepDefaultsOfAbsentKeys) {
  const auto options = read_options<Options>(map().set("rows", 7));
  EXPECT_EQ(options.rows, 7);
  EXPECT_EQ(options.rate, 0.5);
  EXPECT_TRUE(options.shuffle);
  EXPECT_EQ(options.color, Color::green);
  EXPECT_FALSE(options.limit.has_value());
  EXPECT_EQ(options.missing, (std::vector<std::string>{"", "NA"}));
}

TEST(Options, ReadEveryType) {
  Spec missing = Spec::list(kPlace);
  missing.append(plain("x")).append(plain("y"));
  const auto options = read_options<Options>(map()
                                                 .set("rows", 1)
                                                 .set("rate", 2)
                                                 .set("shuffle", false)
                                                 .set("name", "n")
                                                 .set("color", "red")
                                                 .set("limit", 0)
                                                 .set("missing", std::move(missing)));
  EXPECT_EQ(options.rate, 2);
  EXPECT_FALSE(options.shuffle);
  EXPECT_EQ(options.name, "n");
  EXPECT_EQ(options.color, Color::red);
  EXPECT_EQ(options.limit, 0);
  EXPECT_EQ(options.missing, (std::vector<std::string>{"x", "y"}));
}

TEST(Options, OneValueIsAListOfOne) {
  EXPECT_EQ(read_options<Options>(map().set("rows", 1).set("missing", plain("NA"))).missing,
            std::vector<std::string>{"NA"});
}

TEST(Options, SayWhichDecideOnlySpeed) {
  struct Both {
    int64_t rows = 0, threads = 1;
    void declare(OptionReader& o) {
      o.optional("rows", rows, "rows");
      o.optional("threads", threads, "threads");
      o.only_speed("threads");
    }
  };
  const std::vector<OptionInfo> infos = describe_options<Both>();
  ASSERT_EQ(infos.size(), 2u);
  EXPECT_FALSE(infos[0].only_speed);
  EXPECT_TRUE(infos[1].only_speed);
  EXPECT_EQ(read_options<Both>(Spec::map().set("threads", 3)).threads, 3);
}

TEST(Options, SayWhatTheirValuesDecide) {
  struct Some {
    int64_t rows = 0, epochs = 1, threads = 1;
    void declare(OptionReader& o) {
      o.optional("rows", rows, "rows");
      o.optional("epochs", epochs, "epochs");
      o.decides("epochs", Decides::length);
      o.optional("threads", threads, "threads");
      o.only_speed("threads");
    }
  };
  const std::vector<OptionInfo> infos = describe_options<Some>();
  ASSERT_EQ(infos.size(), 3u);
  EXPECT_EQ(infos[0].decides, Decides::results);
  EXPECT_EQ(infos[1].decides, Decides::length);
  EXPECT_FALSE(infos[1].only_speed);
  EXPECT_EQ(infos[2].decides, Decides::nothing);
}

TEST(Options, SayWhatTheyAreToOthers) {
  struct Some {
    int64_t epochs = 3, readers = 1, rows = 1;
    void declare(OptionReader& o) {
      o.optional("epochs", epochs, "epochs");
      o.used_as("epochs", OptionUse::ends);
      o.in_pass("epochs", int64_t{1});
      o.optional("readers", readers, "readers");
      o.not_in_pass("readers");
      o.optional("rows", rows, "rows");
    }
  };
  const std::vector<OptionInfo> infos = describe_options<Some>();
  ASSERT_EQ(infos.size(), 3u);
  EXPECT_EQ(infos[0].use, OptionUse::ends);
  ASSERT_TRUE(infos[0].in_pass);
  EXPECT_EQ(infos[0].in_pass->as_int(), 1);
  ASSERT_TRUE(infos[1].in_pass);
  EXPECT_TRUE(infos[1].in_pass->is_null());
  EXPECT_EQ(infos[2].use, OptionUse::none);
  EXPECT_FALSE(infos[2].in_pass);
  EXPECT_EQ(read_options<Some>(Spec::map().set("epochs", 3)).epochs, 3);
}

TEST(Options, WhatIsSaidOfAKeyIsSaidBehindIt) {
  struct Wrong {
    int64_t rows = 1;
    void declare(OptionReader& o) {
      o.only_speed("rows");
      o.optional("rows", rows, "rows");
    }
  };
  EXPECT_THROW(describe_options<Wrong>(), InternalError);
}

TEST(Options, SayWhichStandsAlone) {
  struct Both {
    int64_t rows = 0, columns = 1;
    void declare(OptionReader& o) {
      o.optional("rows", rows, "rows");
      o.optional("columns", columns, "columns");
      o.stands_alone("columns");
    }
  };
  const std::vector<OptionInfo> infos = describe_options<Both>();
  EXPECT_FALSE(infos.at(0).stands_alone);
  EXPECT_TRUE(infos.at(1).stands_alone);
}

TEST(Options, RejectUnknownKeysAtTheirPlace) {
  Spec spec = map().set("rows", 1);
  Spec typo = plain("1");
  typo.set_key_place({"mlp.yaml", 5, 3});
  spec.set("rat", typo);
  EXPECT_EQ(error_of(spec), "mlp.yaml:5:3: unknown key rat; did you mean rate?");
  Spec far = map().set("rows", 1).set("completely_else", plain("1"));
  far.set_path("input[2].take");
  EXPECT_EQ(error_of(far),
            "mlp.yaml:3:7: input[2].take: unknown key completely_else; the keys here are rows, rate, "
            "shuffle, name, color, limit and missing");
}

struct NoOptions {
  void declare(OptionReader&) {}
};

TEST(Options, SayWhenThereAreNone) {
  try {
    read_options<NoOptions>(map().set("a", plain("1")));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "mlp.yaml:3:7: unknown key a; there are no options here");
  }
}

// Keys that may hold a text.
struct OpenOptions {
  Spec any;
  std::vector<std::string> texts;
  void declare(OptionReader& o) {
    o.required("any", any, "whatever");
    o.optional("texts", texts, "texts");
  }
};
std::string open_error(const Spec& spec) {
  try {
    read_options<OpenOptions>(spec);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(Options, RejectAbsentAndEmptyKeys) {
  EXPECT_EQ(error_of(map()), "mlp.yaml:3:7: the key rows is required (integer); rows: rows to take");
  EXPECT_EQ(error_of(map().set("row", plain("3"))), "mlp.yaml:3:7: unknown key row; did you mean rows?");
  EXPECT_EQ(error_of(map().set("rows", Spec::null(kPlace))),
            "mlp.yaml:3:7: rows: the key has no value; expected integer");
  EXPECT_EQ(open_error(Spec::map(kPlace).set("any", Spec::null(kPlace))),
            "mlp.yaml:3:7: any: the key has no value; null means no value: put it in quotes if a text is meant");
  EXPECT_EQ(open_error(Spec::map(kPlace).set("any", plain("1")).set("texts", Spec::null(kPlace))),
            "mlp.yaml:3:7: texts: the key has no value; expected text or list; null means no value: leave the key out, "
            "or put it in quotes if a text is meant");
  EXPECT_EQ(error_of(Spec::list(kPlace)), "mlp.yaml:3:7: expected a map, got a list");
}

struct Window {
  int64_t size = 0, behind = 0, capacity = 0;
  void declare(OptionReader& o) {
    o.required("size", size, "rows of a batch");
    o.required("capacity", capacity, "rows that may wait");
    o.required("behind", behind, "rows that stay");
    if (o.reading() && capacity <= behind) throw o.node("capacity").error("expected more than behind");
  }
};

std::string window_error(const Spec& spec) {
  try {
    read_options<Window>(spec);
  } catch (const ConfigError& error) {
    return error.message() + "; " + error.hint();
  }
  return "no error";
}

TEST(Options, NameAllRequiredKeysThatAreAbsent) {
  Spec spec = map();
  spec.set_path("input[2].window");
  EXPECT_EQ(window_error(spec), "input[2].window: the keys size, capacity and behind are required; ");
  EXPECT_EQ(window_error(map().set("size", 1)), "the keys capacity and behind are required; ");
  // Not that the capacity, which nobody gave, were too small.
  EXPECT_EQ(window_error(map().set("size", 1).set("behind", 5)),
            "the key capacity is required (integer); capacity: rows that may wait");
  EXPECT_EQ(window_error(map().set("capacity", 9).set("behind", 5)),
            "the key size is required (integer); size: rows of a batch");
  EXPECT_EQ(window_error(map().set("size", 1).set("capcity", 5)),
            "the keys capacity and behind are required; is capcity meant to be capacity?");
  EXPECT_EQ(window_error(map().set("size", 1).set("capacity", 5).set("behind", 5)),
            "capacity: expected more than behind; ");
}

TEST(Options, RejectWrongTypes) {
  EXPECT_EQ(error_of(map().set("rows", plain("many"))), "mlp.yaml:3:7: rows: expected an integer, got \"many\"");
  EXPECT_EQ(error_of(map().set("rows", 1).set("shuffle", plain("2"))),
            "mlp.yaml:3:7: shuffle: expected true or false, got 2");
  EXPECT_EQ(error_of(map().set("rows", 1).set("color", plain("gren"))),
            "mlp.yaml:3:7: color: expected red or green, got \"gren\"; did you mean green?");
  EXPECT_EQ(error_of(map().set("rows", 1).set("color", Spec::list(kPlace))),
            "mlp.yaml:3:7: color: expected red or green, got a list");
}

TEST(Options, CheckRanges) {
  EXPECT_EQ(error_of(map().set("rows", plain("0"))), "mlp.yaml:3:7: rows: expected at least 1 and at most 100, got 0");
  EXPECT_EQ(error_of(map().set("rows", plain("101"))),
            "mlp.yaml:3:7: rows: expected at least 1 and at most 100, got 101");
  EXPECT_EQ(error_of(map().set("rows", 1).set("rate", plain("0"))), "mlp.yaml:3:7: rate: expected more than 0, got 0");
  EXPECT_EQ(error_of(map().set("rows", 1).set("rate", plain(".nan"))),
            "mlp.yaml:3:7: rate: expected more than 0, got .nan");
  EXPECT_EQ(error_of(map().set("rows", 1).set("limit", plain("-1"))),
            "mlp.yaml:3:7: limit: expected at least 0, got -1");
  EXPECT_EQ(read_options<Options>(map().set("rows", 100)).rows, 100);
}

struct Weights {
  std::vector<double> weights;
  void declare(OptionReader& o) { o.required("weights", weights, {.min = 0}, "one for each input"); }
};

TEST(Options, CheckRangesOfListItems) {
  Spec list = Spec::list(kPlace);
  list.append(plain("1")).append(plain("-2"));
  try {
    read_options<Weights>(map().set("weights", std::move(list)));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "mlp.yaml:3:7: weights[1]: expected at least 0, got -2");
  }
}

TEST(Options, ResolvedHoldsEveryKeyAndReadsTheSameAgain) {
  Spec resolved;
  read_options<Options>(map().set("rate", 2).set("rows", 7), &resolved);
  ASSERT_EQ(resolved.size(), 6u);
  EXPECT_EQ(resolved.entries()[0].first, "rows");
  EXPECT_EQ(resolved.entries()[1].first, "rate");
  EXPECT_EQ(resolved.find("limit"), nullptr);
  EXPECT_EQ(resolved.find("color")->as_string(), "green");
  EXPECT_EQ(resolved.find("missing")->size(), 2u);
  const auto again = read_options<Options>(resolved);
  EXPECT_EQ(again.rows, 7);
  EXPECT_EQ(again.rate, 2);
  EXPECT_EQ(again.missing, (std::vector<std::string>{"", "NA"}));
}

TEST(Options, WriteNumbersThatReadBack) {
  for (const double value : {0.1, HUGE_VAL, -HUGE_VAL, -0.0, 5e-324}) {
    EXPECT_EQ(OptionType<double>::read(OptionType<double>::write(value)), value);
  }
  EXPECT_TRUE(std::isnan(OptionType<double>::read(OptionType<double>::write(std::nan("")))));
  EXPECT_EQ(OptionType<std::string>::read(OptionType<std::string>::write("5")), "5");
}

struct Share {
  double share = 0.5;
  void declare(OptionReader& o) {
    o.optional("share", share, {.min = 0, .max = 1, .above_min = true, .below_max = true}, "what is kept");
  }
};

TEST(Options, RangesMayLeaveOutTheirBounds) {
  for (const char* outside : {"0", "1"}) {
    try {
      read_options<Share>(map().set("share", plain(outside)));
      FAIL() << outside;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.message(), std::string("share: expected more than 0 and less than 1, got ") + outside);
    }
  }
  EXPECT_EQ(read_options<Share>(map().set("share", plain("0.25"))).share, 0.25);
}

TEST(Options, RangesAsText) {
  EXPECT_EQ(range_text({}), "");
  EXPECT_EQ(range_text({.min = 1}), "at least 1");
  EXPECT_EQ(range_text({.max = 1e30}), "at most 1e+30");
  EXPECT_EQ(range_text({.min = 0, .max = 1, .above_min = true}), "more than 0 and at most 1");
  EXPECT_EQ(range_text({.min = 0, .max = 1, .below_max = true}), "at least 0 and less than 1");
}

struct Outer {
  Share inner;
  std::optional<Share> maybe;
  Spec free;
  int64_t last = 3;
  void declare(OptionReader& o) {
    o.optional("inner", inner, "a map of options");
    o.optional("maybe", maybe, "another");
    o.optional("free", free, "whatever");
    o.optional("last", last, "a number");
    o.may_be("free", {{.is = OptionForm::Is::integer}, {.is = OptionForm::Is::text}});
  }
};

TEST(Options, AStructOfOptionsIsAnOption) {
  Spec resolved;
  const auto options = read_options<Outer>(map().set("inner", map().set("share", 0.25)), &resolved);
  EXPECT_EQ(options.inner.share, 0.25);
  EXPECT_FALSE(options.maybe.has_value());
  EXPECT_EQ(resolved.size(), 2u);
  EXPECT_EQ(resolved.find("inner")->find("share")->as_double(), 0.25);
  EXPECT_EQ(resolved.find("inner")->find("share")->path(), "inner.share");
  try {
    Spec spec = map().set("maybe", map().set("shar", 1));
    read_options<Outer>(spec);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(), "maybe: unknown key shar");
  }
}

TEST(Options, SayInWhichFormsTheyMayBeWritten) {
  using Is = OptionForm::Is;
  const std::vector<OptionInfo> infos = describe_options<Options>();
  const auto form = [&](size_t i) { return infos.at(i).forms.at(0); };
  EXPECT_EQ(form(0).is, Is::integer);
  EXPECT_EQ(range_text(form(0).range), "at least 1 and at most 100");
  EXPECT_EQ(form(1).is, Is::number);
  EXPECT_EQ(range_text(form(1).range), "more than 0");
  EXPECT_EQ(form(2).is, Is::flag);
  EXPECT_EQ(form(3).is, Is::text);
  EXPECT_EQ(form(4).is, Is::name);
  EXPECT_EQ(form(4).names, (std::vector<std::string>{"red", "green"}));
  EXPECT_EQ(range_text(form(5).range), "at least 0");
  ASSERT_EQ(infos[6].forms.size(), 2u);
  EXPECT_EQ(infos[6].forms[1].is, Is::list);
  EXPECT_EQ(infos[6].forms[1].items.at(0).is, Is::text);
  EXPECT_EQ(range_text(describe_options<Weights>()[0].forms.at(1).items.at(0).range), "at least 0");

  const std::vector<OptionInfo> outer = describe_options<Outer>();
  EXPECT_EQ(outer[0].type, "{share}");
  EXPECT_EQ(outer[0].forms.at(0).is, Is::options);
  EXPECT_EQ(outer[0].forms.at(0).options.at(0).name, "share");
  EXPECT_EQ(outer[1].forms.at(0).options.at(0).name, "share");
  EXPECT_EQ(outer[2].type, "integer or text");
  EXPECT_EQ(outer[3].forms.at(0).is, Is::integer);
}

TEST(Options, DescribeThemselves) {
  const std::vector<OptionInfo> infos = describe_options<Options>();
  ASSERT_EQ(infos.size(), 7u);
  EXPECT_EQ(infos[0].name, "rows");
  EXPECT_EQ(infos[0].type, "integer");
  EXPECT_TRUE(infos[0].required);
  EXPECT_EQ(infos[0].default_value, "");
  EXPECT_EQ(infos[0].doc, "rows to take");
  EXPECT_TRUE(infos[0].fallback.is_null());
  EXPECT_EQ(infos[1].default_value, "0.5");
  EXPECT_EQ(infos[1].fallback.as_double(), 0.5);
  EXPECT_EQ(infos[2].type, "true|false");
  EXPECT_EQ(infos[2].default_value, "true");
  EXPECT_EQ(infos[4].type, "red|green");
  EXPECT_EQ(infos[4].default_value, "green");
  EXPECT_EQ(infos[5].default_value, "");
  EXPECT_FALSE(infos[5].required);
  EXPECT_EQ(infos[6].type, "text or list");
  EXPECT_EQ(infos[6].default_value, "[\"\", \"NA\"]");
}

}  // namespace
}  // namespace millrace
