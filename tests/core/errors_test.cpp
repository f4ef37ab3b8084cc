#include "millrace/core/errors.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <typeinfo>

#include "millrace/core/text.h"

namespace millrace {
namespace {

TEST(Place, LeavesOutWhatIsUnknown) {
  EXPECT_EQ((Place{"a.csv", 4, 3}).text(), "a.csv:4:3");
  EXPECT_EQ((Place{"a.csv", 4, 0}).text(), "a.csv:4");
  EXPECT_EQ((Place{"a.csv", 0, 3}).text(), "a.csv");
  EXPECT_EQ(Place{}.text(), "");
  EXPECT_FALSE(Place{}.known());
  EXPECT_TRUE((Place{"a.csv", 0, 0}).known());
}

TEST(Error, ComposesPlaceMessageAndHint) {
  EXPECT_STREQ(DataError("not a number", {"a.csv", 4, 3}, "try header: true").what(),
               "a.csv:4:3: not a number; try header: true");
  EXPECT_STREQ(ConfigError("unknown key").what(), "unknown key");
  EXPECT_STREQ(IoError("cannot read", {"a.csv", 0, 0}).what(), "a.csv: cannot read");
}

TEST(Error, EveryClassHasItsKind) {
  EXPECT_EQ(ConfigError("x").kind(), ErrorKind::config);
  EXPECT_EQ(ShapeError("x").kind(), ErrorKind::config);
  EXPECT_EQ(DataError("x").kind(), ErrorKind::data);
  EXPECT_EQ(IoError("x").kind(), ErrorKind::io);
  EXPECT_EQ(MissingError("x").kind(), ErrorKind::missing);
  EXPECT_EQ(DeviceError("x").kind(), ErrorKind::device);
  EXPECT_EQ(InternalError("x").kind(), ErrorKind::internal);
  EXPECT_EQ(CallError("x").kind(), ErrorKind::internal);
}

TEST(Error, KindsHaveTheNamesOfTheJsonEvent) {
  EXPECT_EQ(to_string(ErrorKind::config), "config");
  EXPECT_EQ(to_string(ErrorKind::data), "data");
  EXPECT_EQ(to_string(ErrorKind::missing), "missing");
  EXPECT_EQ(to_string(ErrorKind::io), "io");
  EXPECT_EQ(to_string(ErrorKind::device), "device");
  EXPECT_EQ(to_string(ErrorKind::internal), "internal");
}

TEST(Error, ContextGoesBeforeTheMessageAndKeepsTheType) {
  try {
    try {
      throw ShapeError("expected (3), got (4)", {"mlp.yaml", 7, 5}, "change units");
    } catch (Error& error) {
      error.add_context("dense").add_context("model");
      throw;
    }
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "mlp.yaml:7:5: model: dense: expected (3), got (4); change units");
    EXPECT_EQ(error.message(), "model: dense: expected (3), got (4)");
  }
}

TEST(Error, PlaceAndHintAreGivenOnlyOnce) {
  DataError error("bad");
  error.set_place({"a.csv", 1, 2}).set_place({"b.csv", 3, 4}).set_hint("first").set_hint("second");
  EXPECT_STREQ(error.what(), "a.csv:1:2: bad; first");
  EXPECT_EQ(error.place(), (Place{"a.csv", 1, 2}));
  EXPECT_EQ(error.hint(), "first");
}

// Paths and settings come from outside, and may have megabytes.
TEST(Error, CutsWhatNobodyReads) {
  const std::string text(100000, 'x'), cut = std::string(4093, 'x') + "...";
  DataError error(text, {text, 1, 2}, text);
  EXPECT_EQ(error.message(), cut);
  EXPECT_EQ(error.place().file, cut);
  EXPECT_EQ(error.hint(), cut);
  EXPECT_EQ(error.what(), cut + ":1:2: " + cut + "; " + cut);
  error.add_context("who");
  EXPECT_EQ(error.message(), "who: " + cut.substr(5));
  EXPECT_EQ(DataError(std::string(4096, 'x')).message(), std::string(4096, 'x')) << "as long as a path may be";
}

template <class E>
bool raises_its_own_type() {
  const std::unique_ptr<Error> error = std::make_unique<E>("text");
  try {
    error->raise();
  } catch (const Error& raised) {
    return typeid(raised) == typeid(E) && raised.message() == "text";
  }
  return false;
}

TEST(Error, RaiseKeepsTheDynamicType) {
  EXPECT_TRUE(raises_its_own_type<ConfigError>());
  EXPECT_TRUE(raises_its_own_type<ShapeError>());
  EXPECT_TRUE(raises_its_own_type<DataError>());
  EXPECT_TRUE(raises_its_own_type<IoError>());
  EXPECT_TRUE(raises_its_own_type<MissingError>());
  EXPECT_TRUE(raises_its_own_type<DeviceError>());
  EXPECT_TRUE(raises_its_own_type<InternalError>());
  EXPECT_TRUE(raises_its_own_type<CallError>());
}

template <class Thrown>
std::string as_error_text(const Thrown& thrown) {
  try {
    std::rethrow_exception(as_error(std::make_exception_ptr(thrown), "who"));
  } catch (const Error& error) {
    return cat(to_string(error.kind()), ": ", error.what());
  }
}

template <class Base>
struct Silent : Base {
  Silent() : Base() {}
  const char* what() const noexcept override { return nullptr; }
};

const Place kPlace{"a.yaml", 3, 5};

template <class Thrown>
std::string attributed_text(const Thrown& thrown, std::string_view who = "who") {
  try {
    attributed(who, kPlace, [&] { throw thrown; });
  } catch (const Error& error) {
    return cat(to_string(error.kind()), ": ", error.what());
  }
  return "nothing";
}

TEST(Attributed, GivesNameAndPlaceToWhatIsThrown) {
  EXPECT_EQ(attributed_text(std::runtime_error("no luck")), "internal: a.yaml:3:5: who: no luck");
  EXPECT_EQ(attributed_text(5), "internal: a.yaml:3:5: who: an exception of unknown type");
  EXPECT_EQ(attributed_text(5, ""), "internal: a.yaml:3:5: an exception of unknown type");
  EXPECT_EQ(attributed_text(ShapeError("odd")), "config: a.yaml:3:5: odd");
  EXPECT_EQ(attributed_text(ShapeError("odd", {"b.yaml", 1, 1})), "config: b.yaml:1:1: odd");
}

// The place of these is in the data, and somebody else may know it.
TEST(Attributed, LeavesErrorsAboutDataWithoutAPlace) {
  EXPECT_EQ(attributed_text(DataError("bad")), "data: bad");
  EXPECT_EQ(attributed_text(IoError("full")), "io: full");
  EXPECT_EQ(attributed_text(MissingError("gone")), "missing: gone");
}

TEST(Attributed, ReturnsWhatTheBodyReturns) {
  int number = 5;
  int& same = attributed("who", kPlace, [&]() -> int& { return number; });
  EXPECT_EQ(&same, &number);
}

TEST(AsError, IsTheErrorOrSaysWhoseItIs) {
  EXPECT_EQ(as_error_text(DataError("bad", {"a.csv", 2, 0})), "data: a.csv:2: bad");
  EXPECT_EQ(as_error_text(std::runtime_error("no luck")), "internal: who: no luck");
  EXPECT_EQ(as_error_text(std::bad_alloc()), "internal: who: out of memory");
  EXPECT_EQ(as_error_text(std::system_error(EAGAIN, std::generic_category())),
            "io: who: Resource temporarily unavailable");
  EXPECT_EQ(as_error_text(5), "internal: who: an exception of unknown type");
  EXPECT_EQ(as_error_text(Silent<std::exception>()), "internal: who: an exception without a text");
  EXPECT_EQ(as_error_text(Silent<std::system_error>()), "io: who: an exception without a text");
}

TEST(Error, SpecialErrorsAreAlsoGeneralOnes) {
  EXPECT_TRUE((std::is_base_of_v<ConfigError, ShapeError>));
  EXPECT_TRUE((std::is_base_of_v<IoError, MissingError>));
  EXPECT_TRUE((std::is_base_of_v<std::exception, Error>));
}

TEST(RaiseCopy, KeepsTheTypeAndLeavesTheOriginalAlone) {
  const std::exception_ptr original = std::make_exception_ptr(MissingError("gone"));
  for (int round = 0; round < 2; ++round) {
    try {
      raise_copy(original, {"a.csv", 5, 0});
      FAIL();
    } catch (MissingError& error) {
      EXPECT_STREQ(error.what(), "a.csv:5: gone");
      error.add_context("twice");
    }
  }
  EXPECT_THROW(raise_copy(std::make_exception_ptr(std::bad_alloc())), std::bad_alloc);
}

}  // namespace
}  // namespace millrace
